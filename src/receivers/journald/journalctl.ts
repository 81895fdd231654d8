import { type ChildProcess, execFile, spawn } from "node:child_process";
import { promisify } from "node:util";
import { environmentVariable } from "#system";
import { entryArguments, type JournaldConfig, journalArguments } from "./config.js";

/** An entry of the journal with all its fields may be large, but not larger than this. */
const MAX_LINE_BYTES = 32 * 1024 * 1024;
const MAX_STDERR = 2000;
const PROBE_TIMEOUT_MS = 30_000;

/** Runs journalctl. */
export class Journalctl {
  private readonly config: JournaldConfig;
  private child: ChildProcess | undefined;

  constructor(config: JournaldConfig) {
    this.config = config;
  }

  /** Rejects if the program cannot be run. */
  async check(): Promise<void> {
    await this.run(["--version"]);
  }

  /** The cursor of the journal's last entry; undefined if the journal is empty. Rejects if it cannot be read. */
  async lastCursor(): Promise<string | undefined> {
    // Without entries the program ends with an error, although nothing is wrong.
    const { stdout, stderr } = await this.run([
      ...journalArguments(this.config),
      "--lines=0",
      "--show-cursor",
      "--quiet",
    ]).catch((error: { readonly stdout?: string; readonly stderr?: string; readonly code?: unknown }) => {
      if (error.code === 1 && error.stdout?.trim() === "" && error.stderr?.trim() === "") return NO_OUTPUT;
      throw new Error(error.stderr?.trim() || String(error));
    });
    const cursor = /^-- cursor: (.+)$/m.exec(stdout)?.[1];
    if (cursor === undefined && stderr.trim() !== "") throw new Error(stderr.trim().slice(0, MAX_STDERR));
    return cursor;
  }

  /**
   * Reads entries from a cursor on, or from the beginning; with `isFollowing` also those that are written later.
   * `onLines` gets complete lines; the next ones are read when it resolves. `onLongLine` is called for an entry that is
   * too long and left out. Resolves with the reason when the program ends; undefined if it is at the end.
   *
   * The entry of the cursor itself is the first one: `--after-cursor` would leave out another one if the options do not
   * choose that entry. While it follows, journalctl reads entries of one boot only.
   */
  async read(
    cursor: string | undefined,
    isFollowing: boolean,
    onLines: (lines: readonly string[]) => Promise<void>,
    onLongLine: (reason: string) => void,
  ): Promise<string | undefined> {
    const child = this.spawn([
      "--utc",
      "--output=json",
      "--quiet",
      ...(isFollowing ? ["--follow", "--no-tail"] : []),
      ...journalArguments(this.config),
      ...(cursor === undefined ? [] : [`--cursor=${cursor}`]),
      ...entryArguments(this.config),
    ]);
    this.child = child;
    let stderr = "";
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      stderr = (stderr + text).slice(-MAX_STDERR);
    });
    let isEnd = false;
    const ended = new Promise<string>((resolve) => {
      child.on("error", (error) => resolve(error.message));
      child.on("close", (code, signal) => {
        // Without any entry the code is 1. With the code 0 it has read all but damaged files, which it complains about.
        isEnd = !isFollowing && signal === null && (code === 0 || stderr === "");
        resolve(`journalctl ended with ${signal ?? `code ${code}`}`);
      });
    });
    try {
      await readLines(child, onLines, onLongLine);
    } finally {
      child.kill();
      this.child = undefined;
    }
    const reason = await ended;
    if (isEnd) return undefined;
    return stderr.trim() === "" ? reason : `${reason}: ${stderr.trim()}`;
  }

  stop(): void {
    this.child?.kill();
  }

  private spawn(args: readonly string[]): ChildProcess {
    const { file, before } = this.command;
    return spawn(file, [...before, ...args], { stdio: ["ignore", "pipe", "pipe"], env: environment() });
  }

  private async run(args: readonly string[]): Promise<{ readonly stdout: string; readonly stderr: string }> {
    const { file, before } = this.command;
    return promisify(execFile)(file, [...before, ...args], { timeout: PROBE_TIMEOUT_MS, env: environment() });
  }

  private get command(): { readonly file: string; readonly before: readonly string[] } {
    const { root_path: root, journalctl_path: program } = this.config;
    return root === "" ? { file: program, before: [] } : { file: "chroot", before: [root, program] };
  }
}

const NO_OUTPUT = { stdout: "", stderr: "" };
const DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/** Its messages must not depend on the language of the machine. */
function environment() {
  return { PATH: environmentVariable("PATH") ?? DEFAULT_PATH, LC_ALL: "C.UTF-8" };
}

async function readLines(
  child: ChildProcess,
  onLines: (lines: readonly string[]) => Promise<void>,
  onLongLine: (reason: string) => void,
): Promise<void> {
  let parts: Buffer[] = [];
  let size = 0;
  let isSkipping = false;
  for await (const read of child.stdout as AsyncIterable<Buffer>) {
    let chunk = read;
    if (isSkipping) {
      const feed = chunk.indexOf(10);
      if (feed < 0) continue;
      chunk = chunk.subarray(feed + 1);
      isSkipping = false;
    }
    const end = chunk.lastIndexOf(10);
    if (end < 0) {
      parts.push(chunk);
      size += chunk.length;
      if (size <= MAX_LINE_BYTES) continue;
      onLongLine(`an entry is longer than ${MAX_LINE_BYTES} bytes`);
      [parts, size, isSkipping] = [[], 0, true];
      continue;
    }
    const text = Buffer.concat([...parts, chunk.subarray(0, end)]).toString("utf8");
    parts = [chunk.subarray(end + 1)];
    size = chunk.length - end - 1;
    await onLines(text.split("\n"));
  }
}
