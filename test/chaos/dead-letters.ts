import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { decodeNumbers } from "./numbered.js";

const CLI = join(import.meta.dirname, "../../bin/sluice.js");

/** The numbers of all records in dead letters below a directory that no agent has open. */
export async function deadLetters(queue: string): Promise<number[]> {
  const args = [CLI, "dlq", "export", "--dir", queue, "--all"];
  const { stdout } = await promisify(execFile)(process.execPath, args, { maxBuffer: 1 << 30 });
  return stdout
    .split("\n")
    .filter((line) => line !== "")
    .flatMap((line) => decodeNumbers(Buffer.from((JSON.parse(line) as { payload: string }).payload, "base64")));
}
