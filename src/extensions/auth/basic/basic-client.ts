import { z } from "zod";
import type { AuthHeaders, ClientAuthenticator } from "#contract";
import { type ExtensionContext, secret } from "../../../plugin.js";
import { WatchedFile } from "../watched-file.js";

/** `client_auth:` of `basicauth`. */
export const clientAuth = z
  .strictObject({
    username: z.string().optional().meta({ description: "The user." }),
    username_file: z.string().min(1).optional().meta({
      harmless: true,
      description: "A file with the user, which overrides username; reloaded when it changes.",
    }),
    password: secret().optional().meta({ description: "The password." }),
    password_file: z.string().min(1).optional().meta({
      harmless: true,
      description: "A file with the password, which overrides password; reloaded when it changes.",
    }),
  })
  .refine(({ username, username_file }) => username || username_file, {
    path: ["username"],
    message: "expected username or username_file",
  })
  .refine(({ username }) => !username?.includes(":"), {
    path: ["username"],
    message: "expected a user without a colon",
  });

/** Sends a user and a password (RFC 7617), which may come from files that can change. */
export class BasicClient implements ClientAuthenticator {
  readonly isConfidential = true;
  private username: string;
  private password: string;
  private headers: AuthHeaders;
  private readonly files: readonly { readonly file: WatchedFile; readonly key: string }[];

  constructor(config: z.infer<typeof clientAuth>, context: ExtensionContext) {
    const { username = "", password = "", username_file, password_file } = config;
    this.username = username;
    this.password = password;
    this.headers = this.headersNow();
    const files: { file: WatchedFile; key: string }[] = [];
    const watch = (path: string | undefined, key: string, use: (text: string) => void) => {
      if (path !== undefined)
        files.push({ file: new WatchedFile(path, context, (text) => this.change(text, use)), key });
    };
    watch(username_file, "username_file", (text) => {
      this.username = text;
    });
    watch(password_file, "password_file", (text) => {
      this.password = text;
    });
    this.files = files;
  }

  async start(): Promise<void> {
    for (const { file, key } of this.files) await file.start(["client_auth", key]);
  }

  stop(): void {
    for (const { file } of this.files) file.stop();
  }

  authorize(): AuthHeaders {
    return this.headers;
  }

  /** An empty file is probably being written, so it is not used. */
  private change(text: string, use: (text: string) => void): void {
    const trimmed = text.trim();
    if (trimmed === "") throw new Error("it is empty");
    use(trimmed);
    this.headers = this.headersNow();
  }

  private headersNow(): AuthHeaders {
    return { authorization: `Basic ${Buffer.from(`${this.username}:${this.password}`).toString("base64")}` };
  }
}
