import { z } from "zod";
import type { AuthSide } from "../auth.js";
import { ignored, section } from "./schema.js";

/**
 * `auth: {authenticator: ID}`: an extension that authenticates clients for a server, or us as a client. That there is such
 * an extension, that it is among service.extensions, and that it can do it, is checked when the config is loaded.
 */
export function authReference(side: AuthSide) {
  const keys = {
    authenticator: z.string().min(1, "expected the id of an extension").meta({
      description: DESCRIPTIONS[side],
      authenticator: side,
    }),
  };
  const serverOnly = { request_params: ignored("credentials are read from headers, not from the URL: it is logged") };
  return section(z.strictObject(side === "server" ? { ...keys, ...serverOnly } : keys));
}

const DESCRIPTIONS: Readonly<Record<AuthSide, string>> = {
  server: "The id of the extension that decides who may come in, such as basicauth or oidc.",
  client: "The id of the extension that gives the credentials, such as oauth2client.",
};
