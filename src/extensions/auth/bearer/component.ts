import type { AuthHeaders, ClientAuthenticator } from "#contract";
import { type BuiltInExtension, defineBuiltInExtension } from "#contract/built-in";
import type { ExtensionContext } from "../../../plugin.js";
import { WatchedFile } from "../watched-file.js";
import { BearerServer } from "./bearer-server.js";
import { type BearerTokenAuthConfig, bearerTokenAuthSchema } from "./config.js";

/** Authenticates by tokens that both sides know. */
export const bearerTokenAuth = defineBuiltInExtension<BearerTokenAuthConfig>({
  type: "bearertokenauth",
  aliases: ["bearer_token_auth"],
  summary: "Authenticates clients by shared tokens, and exporters to their servers.",
  runsIn: "both",
  schema: bearerTokenAuthSchema,
  authenticates: () => ["server", "client"],
  create: (config, context) => new BearerTokenAuth(config, context),
});

class BearerTokenAuth implements BuiltInExtension {
  readonly serverAuthenticator: BearerServer;
  readonly clientAuthenticator: BearerClient;
  private readonly file: WatchedFile | undefined;
  private hasStarted = false;

  constructor({ header, scheme, token, tokens = [], filename }: BearerTokenAuthConfig, context: ExtensionContext) {
    const shape = { header: header.toLowerCase(), scheme };
    this.serverAuthenticator = new BearerServer(shape, context);
    this.clientAuthenticator = new BearerClient(shape);
    if (filename === undefined) this.use([...(token === undefined ? [] : [token]), ...tokens]);
    else this.file = new WatchedFile(filename, context, (text) => this.useFile(text));
  }

  async start(): Promise<void> {
    await this.file?.start(["filename"]);
    this.hasStarted = true;
  }

  async stop(): Promise<void> {
    this.file?.stop();
  }

  /** An empty file is a mistake at the start. Later it revokes all tokens. */
  private useFile(text: string): void {
    const tokens = tokensIn(text);
    if (tokens.length === 0 && !this.hasStarted) throw new Error("there is no token in it");
    this.use(tokens);
  }

  private use(tokens: readonly string[]): void {
    this.serverAuthenticator.use(tokens);
    this.clientAuthenticator.use(tokens);
  }
}

/** One token per line. Blank lines and lines that begin with # are skipped. */
function tokensIn(text: string): string[] {
  const lines = text.split(/\r?\n/).map((line) => line.trim());
  return lines.filter((line) => line !== "" && !line.startsWith("#"));
}

/** Sends the first of its tokens. Servers accept any of them, so tokens can be rotated without a gap. */
class BearerClient implements ClientAuthenticator {
  readonly isConfidential = true;
  private readonly header: string;
  private readonly scheme: string;
  private headers: AuthHeaders = {};

  /** `header` is in lower case. */
  constructor({ header, scheme }: { readonly header: string; readonly scheme: string }) {
    this.header = header;
    this.scheme = scheme;
  }

  use([token]: readonly string[]): void {
    const shown = this.scheme === "" ? token : `${this.scheme} ${token}`;
    this.headers = token === undefined ? {} : { [this.header]: shown! };
  }

  authorize(): AuthHeaders {
    return this.headers;
  }
}
