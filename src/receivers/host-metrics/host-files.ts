import { readFileSync } from "node:fs";
import { readFile, readlink } from "node:fs/promises";
import { setImmediate as nextTurn } from "node:timers/promises";
import { withoutEnd } from "#text";

/** The unit of CPU time in /proc, the same on every Linux that runs Node.js. */
export const TICKS_PER_SECOND = 100;

export class HostFiles {
  /** The root of the machine's file system; empty if the agent runs directly on the machine. */
  readonly root: string;
  private syncReads = 0;

  constructor(root: string) {
    this.root = withoutEnd(root, "/");
  }

  /** The process whose mounts and network are the machine's own. In a container the agent's are different. */
  get hostProcess(): string {
    return this.root === "" ? "self" : "1";
  }

  read(path: string): Promise<string> {
    return readFile(`${this.root}/proc/${path}`, "utf8");
  }

  /**
   * Reads a process file synchronously. The kernel produces it within microseconds without waiting for anything, so
   * this takes a tenth of the time of an asynchronous read. Never read a command line this way: the kernel may wait for
   * the process.
   */
  async readProcess(pid: string, file: "stat" | "status" | `task/${string}/status`): Promise<string> {
    if (++this.syncReads % FILES_PER_TURN === 0) await nextTurn();
    return readFileSync(`${this.root}/proc/${pid}/${file}`, "utf8");
  }

  async lines(path: string): Promise<string[]> {
    return (await this.read(path)).split("\n").filter((line) => line !== "");
  }

  /** Names of users by their numbers; empty if the machine does not tell. */
  async users(): Promise<ReadonlyMap<string, string>> {
    const text = await readFile(`${this.root}/etc/passwd`, "utf8").catch(() => "");
    return new Map(
      text
        .split("\n")
        .map((line) => line.split(":"))
        .map(([name = "", , id = ""]) => [id, name]),
    );
  }

  link(path: string): Promise<string> {
    return readlink(`${this.root}/proc/${path}`);
  }

  /** Parses a file of names and numbers, such as meminfo or vmstat. Kilobytes are not converted. */
  async numbers(path: string): Promise<Map<string, number>> {
    return numbersIn(await this.read(path));
  }
}

/** The number of synchronous reads before yielding to other work: they take less than a millisecond together. */
const FILES_PER_TURN = 50;

/** Parses lines of names and numbers. */
export function numbersIn(text: string): Map<string, number> {
  const lines = text.split("\n").filter((line) => line !== "");
  return new Map(
    lines.map((line): [string, number] => {
      const [name = "", value] = line.split(/:?\s+/);
      return [name, Number(value)];
    }),
  );
}

/** Whether an item with this name is wanted. */
export type NamePredicate = (name: string) => boolean;

/** A share with as many digits as its parts have, as the Collector rounds it. */
export function ratio(part: number, whole: number): number {
  const digits = Math.max(1, Math.floor(Math.log10(Math.max(part, whole))) + 1);
  const scale = 10 ** digits;
  return whole === 0 ? Number.NaN : Math.round((part / whole) * scale) / scale;
}
