import { readFileSync } from "node:fs";
import { readFile, readlink } from "node:fs/promises";
import { setImmediate as nextTurn } from "node:timers/promises";

/** The kernel counts CPU time in these, on every Linux there is for Node.js. */
export const TICKS_PER_SECOND = 100;

/** The files of the machine that is measured. */
export class HostFiles {
  /** Where its file system is; empty when the agent runs on it. */
  readonly root: string;
  private readAtOnce = 0;

  constructor(root: string) {
    this.root = root.replace(/\/+$/, "");
  }

  /** The process whose mounts and network are the machine's: in a container the agent's own are not. */
  get witness(): string {
    return this.root === "" ? "self" : "1";
  }

  read(path: string): Promise<string> {
    return readFile(`${this.root}/proc/${path}`, "utf8");
  }

  /**
   * What the kernel says of a process, which takes it microseconds and never waits for anybody: read at once, at a tenth of what
   * it costs by way of other threads. A command line is not read like this: for it the kernel may wait for the process.
   */
  async readProcess(pid: string, file: "stat" | "status"): Promise<string> {
    if (++this.readAtOnce % FILES_PER_TURN === 0) await nextTurn();
    return readFileSync(`${this.root}/proc/${pid}/${file}`, "utf8");
  }

  async lines(path: string): Promise<string[]> {
    return (await this.read(path)).split("\n").filter((line) => line !== "");
  }

  link(path: string): Promise<string> {
    return readlink(`${this.root}/proc/${path}`);
  }

  /** A file of names and numbers, such as meminfo or vmstat; kilobytes stay such. */
  async numbers(path: string): Promise<Map<string, number>> {
    return numbersIn(await this.read(path));
  }
}

/** After so many files that are read at once others get their turn: that is less than a millisecond. */
const FILES_PER_TURN = 50;

/** Lines of names and numbers. */
export function numbersIn(text: string): Map<string, number> {
  const lines = text.split("\n").filter((line) => line !== "");
  return new Map(
    lines.map((line): [string, number] => {
      const [name = "", value] = line.split(/:?\s+/);
      return [name, Number(value)];
    }),
  );
}

/** Whether something of this name is wanted. */
export type Wanted = (name: string) => boolean;
