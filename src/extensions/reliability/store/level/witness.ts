import { type FileHandle, open, readdir, readFile, rename, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { crc32c } from "./crc32c.js";
import type { Meta } from "./meta.js";

/**
 * A small file next to a store's directory that says what was in the store when it was last heard of. It tells a new
 * store from an emptied one, and shows when the end of LevelDB's log is missing. It follows the commits (a few
 * milliseconds behind, without fsync), so it never promises more than the store has.
 */
export interface Testimony {
  readonly format: number;
  readonly store: string;
  readonly exporter: string;
  readonly commits: number;
  readonly last: number;
  readonly pending: number;
  readonly failed: number;
}

export function witnessPath(directory: string): string {
  return `${directory}.witness`;
}

/** "missing" when there is none, "damaged" when it cannot be believed. */
export async function readWitness(directory: string): Promise<Testimony | "missing" | "damaged"> {
  let text: string;
  try {
    text = await readFile(witnessPath(directory), "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return "missing";
    throw error;
  }
  return parse(text) ?? "damaged";
}

/** The stores below a directory whose witnesses can be believed. */
export async function storesUnder(root: string): Promise<{ directory: string; said: Testimony }[]> {
  const names = (await readdir(root)).filter((name) => name.endsWith(".witness")).sort();
  const found: { directory: string; said: Testimony }[] = [];
  for (const name of names) {
    const directory = join(root, name.slice(0, -".witness".length));
    const said = await readWitness(directory).catch(() => "damaged" as const);
    if (typeof said !== "string") found.push({ directory, said });
  }
  return found;
}

/** Writes testimonies, one at a time; of several that come meanwhile only the newest. */
export class Witness {
  private readonly path: string;
  private file: FileHandle | undefined;
  private next: Meta | undefined;
  private working: Promise<void> | undefined;

  constructor(directory: string) {
    this.path = witnessPath(directory);
  }

  /** Makes the file anew, so that a damaged one is replaced in one step. */
  async start(meta: Meta): Promise<void> {
    const fresh = join(dirname(this.path), `.${basename(this.path)}.new`);
    await writeFile(fresh, render(meta), { flush: true });
    await rename(fresh, this.path);
    this.file = await open(this.path, "r+");
  }

  /** Never fails: a witness that cannot be written is only older. */
  note(meta: Meta): void {
    this.next = meta;
    this.working ??= this.work().finally(() => {
      this.working = undefined;
    });
  }

  async stop(): Promise<void> {
    await this.working;
    const file = this.file;
    this.file = undefined;
    await file?.datasync().catch(() => {});
    await file?.close();
  }

  private async work(): Promise<void> {
    while (this.next !== undefined && this.file !== undefined) {
      const text = render(this.next);
      this.next = undefined;
      await this.file.write(text, 0).catch(() => {});
    }
  }
}

/** Always of the same length, so that it can be written over in place. */
function render(meta: Meta): string {
  const { format, store, exporter, commits, last } = meta;
  const said = { format, store, exporter, commits, last, pending: meta.pending.entries, failed: meta.failed.entries };
  const text = JSON.stringify(said).padEnd(502);
  return `${text} ${checksum(text)}\n`;
}

function parse(text: string): Testimony | undefined {
  const line = text.split("\n")[0]!;
  const cut = line.lastIndexOf(" ");
  const said = line.slice(0, cut);
  return cut > 0 && checksum(said) === line.slice(cut + 1) ? (JSON.parse(said) as Testimony) : undefined;
}

function checksum(text: string): string {
  return crc32c(Buffer.from(text)).toString(16).padStart(8, "0");
}
