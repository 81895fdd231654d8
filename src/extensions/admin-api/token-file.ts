import { createHash, randomBytes } from "node:crypto";
import { readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { ADMIN_TOKEN, createAdminToken } from "#net/auth";
import { holdName, makePrivateDirectory, PRIVATE_FILE_MODE, type ProcessHold } from "#system";
import type { Host } from "../../plugin.js";

/** The token files of an agent, by the path that its config names. */
const FILES = new WeakMap<Host, Map<string, TokenFile>>();

/** After a reload the new extension has the file of its predecessor, whose token stays valid. */
export function tokenFileOf(host: Host, path: string): TokenFile {
  const files = FILES.get(host) ?? new Map<string, TokenFile>();
  FILES.set(host, files);
  const file = files.get(resolve(path)) ?? new TokenFile(path);
  files.set(resolve(path), file);
  return file;
}

/**
 * A token that an agent creates when it starts, in a file that only its owner can read. The user who runs the agent may
 * do everything with it, and other users of the machine nothing.
 *
 * While an agent uses a file, its process holds the file's name, and no other agent replaces or removes the file: that one
 * takes the next name, such as `admin-token-2`. A file whose name nobody holds was left by an agent that was killed, and
 * is replaced or removed. A name is held in its folder (device and inode), whatever path leads there.
 */
export class TokenFile {
  /** The path in the config. The file may have another number. */
  readonly wanted: string;
  token = "";
  private users = 0;
  private written: Promise<HeldFile> | undefined;
  private current: string | undefined;

  constructor(path: string) {
    this.wanted = resolve(path);
  }

  /** The path of the file, while it exists. */
  get path(): string | undefined {
    return this.current;
  }

  /** Writes the file, unless a predecessor in the same agent has written it. */
  async write(): Promise<void> {
    this.users += 1;
    this.written ??= this.create();
    try {
      this.current = (await this.written).path;
    } catch (error) {
      this.users -= 1;
      this.written = undefined;
      throw error;
    }
  }

  /** Removes the file when its last user is gone, unless another program has replaced it. */
  async remove(): Promise<void> {
    if (this.users === 0) return;
    this.users -= 1;
    if (this.users > 0) return;
    const { path, hold } = await this.written!;
    this.written = undefined;
    this.current = undefined;
    const text = await readFile(path, "utf8").catch(() => "");
    if (text.trim() === this.token) await rm(path, { force: true }).catch(() => {});
    await hold.release();
  }

  private async create(): Promise<HeldFile> {
    this.token = createAdminToken();
    await makePrivateDirectory(dirname(this.wanted));
    for (let number = 1; ; number++) {
      const path = number === 1 ? this.wanted : `${this.wanted}-${number}`;
      if (number > 1 && !(await mayReplace(path))) continue;
      const hold = await holdFile(path);
      if (hold === undefined) continue;
      try {
        await replaceFile(path, `${this.token}\n`);
      } catch (error) {
        await hold.release();
        throw error;
      }
      await removeUnused(this.wanted);
      return { path, hold };
    }
  }
}

interface HeldFile {
  readonly path: string;
  readonly hold: ProcessHold;
}

/** Returns undefined if another agent holds this name. */
async function holdFile(path: string): Promise<ProcessHold | undefined> {
  const { dev, ino } = await stat(dirname(path), { bigint: true });
  const name = createHash("sha256").update(basename(path)).digest("hex").slice(0, 16);
  const hold = await holdName(`sluice-token-${dev}-${ino}-${name}`);
  return "heldBy" in hold ? undefined : hold;
}

/** Replaces whatever exists at the path, so nothing is written through a link that another user has made. */
async function replaceFile(path: string, text: string): Promise<void> {
  const part = `${path}.${randomBytes(6).toString("hex")}.part`;
  await writeFile(part, text, { flag: "wx", mode: PRIVATE_FILE_MODE });
  await rename(part, path).catch(async (error: unknown) => {
    await rm(part, { force: true });
    throw error;
  });
}

/** Whether there is nothing at the path, or a token. The config does not name it, so another file may be the user's. */
async function mayReplace(path: string): Promise<boolean> {
  try {
    return ADMIN_TOKEN.test((await readFile(path, "utf8")).trim());
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ENOENT";
  }
}

/** Removes what killed agents have left beside a token file. */
async function removeUnused(path: string): Promise<void> {
  const [folder, prefix] = [dirname(path), `${basename(path)}-`];
  const names = await readdir(folder).catch(() => []);
  for (const name of names) {
    if (!name.startsWith(prefix) || !/^\d+$/.test(name.slice(prefix.length))) continue;
    if (!(await mayReplace(join(folder, name)))) continue;
    const hold = await holdFile(join(folder, name));
    if (hold === undefined) continue;
    await rm(join(folder, name), { force: true }).catch(() => {});
    await hold.release();
  }
}
