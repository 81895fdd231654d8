import { randomBytes } from "node:crypto";
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { createAdminToken } from "../../runtime/kit.js";

const OWNER_ONLY = 0o600;
const OWNER_ONLY_DIRECTORY = 0o700;

/**
 * A token that is made anew at every start, in a file that only its owner can read: whoever runs the agent may do everything
 * with it, and other users of the machine nothing.
 */
export class TokenFile {
  readonly path: string;
  readonly token = createAdminToken();

  constructor(path: string) {
    this.path = resolve(path);
  }

  /** Puts a new file in the place of whatever is there: nothing is written through a link that somebody else has made. */
  async write(): Promise<void> {
    await mkdir(dirname(this.path), { recursive: true, mode: OWNER_ONLY_DIRECTORY });
    const part = `${this.path}.${randomBytes(6).toString("hex")}.part`;
    await writeFile(part, `${this.token}\n`, { flag: "wx", mode: OWNER_ONLY });
    await rename(part, this.path).catch(async (error: unknown) => {
      await rm(part, { force: true });
      throw error;
    });
  }

  /** Unless another agent has put its own there. */
  async remove(): Promise<void> {
    const text = await readFile(this.path, "utf8").catch(() => "");
    if (text.trim() === this.token) await rm(this.path, { force: true }).catch(() => {});
  }
}
