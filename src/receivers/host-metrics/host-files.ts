import { readFile, readlink } from "node:fs/promises";

/** The kernel counts CPU time in these, on every Linux there is for Node.js. */
export const TICKS_PER_SECOND = 100;

/** The files of the machine that is measured. */
export class HostFiles {
  /** Where its file system is; empty when the agent runs on it. */
  readonly root: string;

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

  async lines(path: string): Promise<string[]> {
    return (await this.read(path)).split("\n").filter((line) => line !== "");
  }

  link(path: string): Promise<string> {
    return readlink(`${this.root}/proc/${path}`);
  }

  /** A file of names and numbers, such as meminfo or vmstat; kilobytes stay such. */
  async numbers(path: string): Promise<Map<string, number>> {
    const entries = (await this.lines(path)).map((line): [string, number] => {
      const [name = "", value] = line.split(/:?\s+/);
      return [name, Number(value)];
    });
    return new Map(entries);
  }
}

/** Whether something of this name is wanted. */
export type Wanted = (name: string) => boolean;
