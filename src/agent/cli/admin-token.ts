import { adminTokenHash, createAdminToken } from "#net/auth";
import type { CommandContext } from "./command.js";
import { EXIT } from "./terminal.js";

/** `sluice admin-token`: prints a new token and the hash to put into a config. */
export async function adminToken({ terminal }: CommandContext): Promise<number> {
  const token = createAdminToken();
  terminal.out.write(`token: ${token}\nhash: ${adminTokenHash(token)}\n`);
  return EXIT.ok;
}
