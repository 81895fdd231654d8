import { open, readFile, rename } from "node:fs/promises";
import { dirname, join } from "node:path";
import { makePrivateDirectory, PRIVATE_FILE_MODE } from "#system";
import { StartError } from "../../plugin.js";
import { createInstanceUid, formatInstanceUid, parseInstanceUid } from "./instance-uid.js";

const PATH = ["storage", "directory"];

/** Keeps what must survive a restart, in files that only their owner can read. */
export class OpampStorage {
  private readonly directory: string;
  /** Writes happen one after the other, so that the last one wins. */
  private writing: Promise<void> = Promise.resolve();

  /** Two extensions of one agent have a folder each. */
  constructor(directory: string, id: string) {
    this.directory = join(directory, encodeURIComponent(id));
  }

  /** The identity of this agent. The first time one is created. Throws a `StartError` if it cannot be kept. */
  async instanceUid(nowMs: number): Promise<Buffer> {
    try {
      const known = parseInstanceUid((await this.read("instance-uid"))?.trim() ?? "");
      if (known !== undefined) return known;
      const uid = createInstanceUid(nowMs);
      await this.keepInstanceUid(uid);
      return uid;
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      const what = `cannot keep the identity of this agent in ${this.directory}: ${code ?? message}`;
      throw new StartError(`${what}; set instance_uid, or another directory`, PATH, { cause: error });
    }
  }

  keepInstanceUid(uid: Uint8Array): Promise<void> {
    return this.write("instance-uid", `${formatInstanceUid(uid)}\n`);
  }

  /** Undefined when there is no such file. */
  async read(name: string): Promise<string | undefined> {
    return readFile(join(this.directory, name), "utf8").catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return undefined;
      throw error;
    });
  }

  /** Replaces the file as a whole: a crash leaves the old content or the new one. */
  write(name: string, text: string): Promise<void> {
    const write = () => replaceFile(join(this.directory, name), text);
    const written = this.writing.then(write, write);
    this.writing = written.catch(() => {});
    return written;
  }
}

async function replaceFile(path: string, text: string): Promise<void> {
  await makePrivateDirectory(dirname(path));
  const temporary = `${path}.new`;
  const file = await open(temporary, "w", PRIVATE_FILE_MODE);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(temporary, path);
}
