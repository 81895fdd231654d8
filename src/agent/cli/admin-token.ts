import { adminTokenHash, createAdminToken } from "#net/auth";
import type { CommandContext } from "./command.js";
import { EXIT } from "./terminal.js";

/** `sluice admin-token`: a new token, and what a config holds of it. */
export async function adminToken({ terminal }: CommandContext): Promise<number> {
  const token = createAdminToken();
  terminal.out.write(`token: ${token}\nhash: ${adminTokenHash(token)}\n`);
  return EXIT.ok;
}
