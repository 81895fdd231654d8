import { z } from "zod";
import { defineExtension, type Extension, type ExtensionContext, secret } from "../../../plugin.js";
import { WatchedFile } from "../watched-file.js";
import { BearerServer } from "./bearer-server.js";

const schema = z
  .strictObject({
    scheme: z
      .string()
      .default("Bearer")
      .meta({ description: 'What stands before the token in the header; "" is nothing.' }),
    header: z.string().min(1).default("Authorization").meta({ description: "The header that the token is in." }),
    token: secret().min(1).optional().meta({ description: "The token." }),
    tokens: z.array(secret().min(1)).optional().meta({ description: "Several of them; each of them lets in." }),
    filename: z.string().min(1).optional().meta({
      description: "A file with a token in each line, in place of token and tokens; read again when it changes.",
    }),
  })
  .refine(({ token, tokens, filename }) => token ?? tokens?.length ?? filename, "expected token, tokens or filename");

type BearerTokenAuthConfig = z.infer<typeof schema>;

/** Tokens that are a secret in themselves. */
export const bearerTokenAuth = defineExtension<BearerTokenAuthConfig>({
  type: "bearertokenauth",
  aliases: ["bearer_token_auth"],
  summary: "Authenticates clients by tokens that both sides know.",
  schema,
  authenticates: () => ["server"],
  create: (config, context) => new BearerTokenAuth(config, context),
});

class BearerTokenAuth implements Extension {
  readonly serverAuthenticator: BearerServer;
  private readonly file: WatchedFile | undefined;

  constructor({ header, scheme, token, tokens = [], filename }: BearerTokenAuthConfig, context: ExtensionContext) {
    this.serverAuthenticator = new BearerServer({ header: header.toLowerCase(), scheme }, context);
    if (filename === undefined) this.serverAuthenticator.use([...(token === undefined ? [] : [token]), ...tokens]);
    else this.file = new WatchedFile(filename, context, (text) => this.serverAuthenticator.use(tokensIn(text)));
  }

  async start(): Promise<void> {
    await this.file?.start(["filename"]);
  }

  async stop(): Promise<void> {
    this.file?.stop();
  }
}

/** A file without any is one that is being written. */
function tokensIn(text: string): string[] {
  const tokens = text.split(/\r?\n/).map((line) => line.trim());
  const found = tokens.filter((line) => line !== "");
  if (found.length === 0) throw new Error("there is no token in it");
  return found;
}
