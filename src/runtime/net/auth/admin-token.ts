import { hash, randomBytes } from "node:crypto";

/** Creates a random token. The prefix lets secret scanners find a leaked one. */
export function createAdminToken(): string {
  return `sluice_admin_${randomBytes(32).toString("base64url")}`;
}

/** Format of such a token: the command line sends nothing else that it finds in a token file. */
export const ADMIN_TOKEN = /^sluice_admin_[A-Za-z0-9_-]{43}$/;

/** The token's hash for a config. It needs no salt and no slow hash, because 256 random bits cannot be guessed. */
export function adminTokenHash(token: string): string {
  return `sha256:${hash("sha256", token, "hex")}`;
}
