import { z } from "zod";
import type { AuthSide } from "../auth.js";
import type { ExtensionRole } from "../services/extension-services.js";
import { ignored, section } from "./schema.js";

/**
 * The schema of `auth: {authenticator: ID}`, which names an extension that authenticates clients to a server, or us as
 * a client. When the config is loaded, it is checked that the extension exists, is listed in service.extensions, and
 * supports this.
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

/**
 * The schema of the id of an extension that serves receivers. It is checked like `authReference`.
 *
 * @internal
 */
export function extensionReference(role: ExtensionRole) {
  return z.string().min(1, "expected the id of an extension").meta({ extensionRole: role });
}

const DESCRIPTIONS: Readonly<Record<AuthSide, string>> = {
  server: "The id of the extension that authenticates clients, such as basicauth or oidc.",
  client: "The id of the extension that provides the credentials, such as oauth2client.",
};
