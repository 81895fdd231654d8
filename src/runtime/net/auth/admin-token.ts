import { hash, randomBytes } from "node:crypto";

/** A token that nobody guesses. The prefix lets scanners of secrets find one that got lost. */
export function createAdminToken(): string {
  return `sluice_admin_${randomBytes(32).toString("base64url")}`;
}

/** What such a token looks like: the command line sends nothing else that it found in a file. */
export const ADMIN_TOKEN = /^sluice_admin_[A-Za-z0-9_-]{43}$/;

/** A token as a config may hold it. It needs no salt and no cost: nobody goes through 256 random bits. */
export function adminTokenHash(token: string): string {
  return `sha256:${hash("sha256", token, "hex")}`;
}
