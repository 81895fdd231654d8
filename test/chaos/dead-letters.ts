import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { decodeNumbers } from "./numbered.js";

const CLI = join(import.meta.dirname, "../../bin/sluice.js");

/** The numbers of all records in dead letters below a directory that no agent has open, or in the queues of a config. */
export async function deadLetters(queue: string | { readonly config: string }): Promise<number[]> {
  const where = typeof queue === "string" ? ["--dir", queue] : ["--config", queue.config];
  return (await dlq("export", ...where, "--reveal", "--why", "their records are counted"))
    .split("\n")
    .filter((line) => line !== "")
    .flatMap((line) => decodeNumbers(Buffer.from((JSON.parse(line) as { payload: string }).payload, "base64")));
}

/** Puts them all back. */
export async function replayAll(queue: string): Promise<void> {
  await dlq("replay", "--all", "--dir", queue, "--by", "chaos", "--rate", "10000");
}

async function dlq(...args: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, [CLI, "dlq", ...args], { maxBuffer: 1 << 30 });
  return stdout;
}
