import { createHmac, randomBytes } from "node:crypto";
import { AuthError, type AuthenticatedClient, type ServerAuthenticator, type ServerAuthRequest } from "#contract";
import { CredentialGate, type VerifiedCredentials } from "#net/auth";
import type { ComponentContext } from "../../../plugin.js";
import { WatchedFile } from "../watched-file.js";
import { type Htpasswd, parseHtpasswd } from "./htpasswd.js";
import type { PasswordCheck } from "./password-check.js";
import { VerificationQueue } from "./verification-queue.js";

/** Sources of users and passwords; those of `inline` win. */
interface HtpasswdConfig {
  readonly file?: string | undefined;
  readonly inline?: string | undefined;
}

/** Accepts clients whose user and password match htpasswd. */
export class BasicServer implements ServerAuthenticator {
  readonly challenge = 'Basic realm="sluice", charset="UTF-8"';
  private readonly id: string;
  private readonly gate: CredentialGate;
  private readonly queue: VerificationQueue;
  private readonly inline: Htpasswd;
  private fromFile: Htpasswd = new Map();
  private readonly file: WatchedFile | undefined;
  private readonly salt = randomBytes(16);

  constructor({ file, inline = "" }: HtpasswdConfig, context: ComponentContext) {
    this.id = context.id;
    this.gate = new CredentialGate(context);
    this.queue = new VerificationQueue(context.clock);
    this.inline = parseHtpasswd(inline, true);
    this.file = file === undefined ? undefined : new WatchedFile(file, context, (text) => this.useFile(text));
  }

  async start(): Promise<void> {
    await this.file?.start(["htpasswd", "file"]);
  }

  stop(): void {
    this.file?.stop();
  }

  authenticate(request: ServerAuthRequest): AuthenticatedClient | Promise<AuthenticatedClient> {
    const header = request.header("authorization");
    if (header === undefined) throw this.gate.missing(request, "credentials are required");
    return this.gate.authenticate(request, header, (shown) => this.verify(shown));
  }

  private useFile(text: string): void {
    this.fromFile = parseHtpasswd(text, false);
    this.gate.forget();
  }

  private verify(header: string): Promise<VerifiedCredentials> {
    const [user, password] = parseBasic(header);
    return this.queue.run(async () => {
      // The time must not reveal whether there is such a user.
      const check = this.checkOf(user) ?? this.decoyCheck(user);
      // An empty password is never right, not even where the hash of an empty one is stored.
      const isRight = (await check?.(password)) === true && password !== "";
      if (!isRight || this.checkOf(user) !== check) throw wrongCredentials();
      return { client: { authenticator: this.id, subject: user, attributes: { username: user } } };
    });
  }

  private checkOf(user: string): PasswordCheck | undefined {
    return this.inline.get(user) ?? this.fromFile.get(user);
  }

  /**
   * Returns the check of another user, always the same one for a name. Hashes take different times, so a single check
   * for all unknown names would distinguish them from known users.
   */
  private decoyCheck(user: string): PasswordCheck | undefined {
    const checks = [...this.inline.values(), ...this.fromFile.values()];
    return checks[createHmac("sha256", this.salt).update(user).digest().readUInt32LE() % checks.length];
  }
}

/** Throws an `AuthError` if the header is not a Basic credential. */
function parseBasic(header: string): [user: string, password: string] {
  const encoded = /^basic +([A-Za-z0-9+/_-]+=*) *$/i.exec(header)?.[1];
  const decoded = encoded === undefined ? "" : Buffer.from(encoded, "base64").toString("utf8");
  const colon = decoded.indexOf(":");
  if (colon < 1) throw wrongCredentials();
  return [decoded.slice(0, colon), decoded.slice(colon + 1)];
}

function wrongCredentials(): AuthError {
  return new AuthError("unauthenticated", "the credentials are not valid");
}
