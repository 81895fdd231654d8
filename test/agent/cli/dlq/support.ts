import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { main } from "../../../../src/agent/cli/main.js";
import type { Failure } from "../../../../src/runtime/contract/operations/entry.js";
import { directoryNameOf } from "../../../../src/runtime/queue/operate/directory-name.js";
import { LevelStore } from "../../../../src/runtime/queue/store/level-store.js";
import { failedEntry, failure, newEntry } from "../../../runtime/queue/store/entries.js";

/** Runs a command line in this process. `answer` is what the person at the terminal says when asked. */
export async function sluice(
  args: readonly string[],
  options: { answer?: string; columns?: number; env?: Record<string, string> } = {},
) {
  const written = { out: "", err: "" };
  const asked: string[] = [];
  const output = (name: "out" | "err") => ({
    write: (text: string) => void (written[name] += text),
    isTerminal: options.columns !== undefined,
    colour: false,
    columns: options.columns,
  });
  const ask = async (question: string) => {
    asked.push(question);
    return options.answer ?? "";
  };
  const terminal = {
    out: output("out"),
    err: output("err"),
    env: options.env ?? {},
    ask: options.answer === undefined ? undefined : ask,
  };
  const code = await main(args, terminal);
  return { code, asked, ...written };
}

/** Runs the built command line as people do. */
export function sluiceProcess(args: readonly string[], cwd = process.cwd(), env: Record<string, string> = {}) {
  return new Promise<{ code: number | null; out: string; err: string }>((resolve) => {
    const script = join(import.meta.dirname, "../../../../bin/sluice.js");
    const child = spawn(process.execPath, [script, ...args], {
      cwd,
      env: { ...process.env, ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let out = "";
    let err = "";
    child.stdout.on("data", (chunk) => (out += chunk));
    child.stderr.on("data", (chunk) => (err += chunk));
    child.on("close", (code) => resolve({ code, out, err }));
  });
}

export async function temporary(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "sluice-dlq-"));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

/** Makes a queue with these dead letters in the directory; gives their ids. */
export async function queueOf(
  directory: string,
  exporter: string,
  failures: readonly Partial<Failure>[],
): Promise<string[]> {
  const store = await openQueue(directory, exporter);
  const ids: string[] = [];
  for (const [i, own] of failures.entries()) {
    const { ref, entry } = await store.put(newEntry(`body ${i}`));
    await store.fail(ref, { ...failedEntry(entry), failure: { ...failure, at: Date.now() - 1000, ...own } });
    ids.push(entry.id);
  }
  await store.close();
  return ids;
}

export async function openQueue(directory: string, exporter: string): Promise<LevelStore> {
  const path = join(directory, directoryNameOf(exporter));
  const store = new LevelStore({ exporter, directory: path, durability: "process", intervalMs: 0 });
  await store.open();
  return store;
}
