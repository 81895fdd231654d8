import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { bundled } from "../../../support/bundled.js";
import { keyring } from "./encryption/keys.js";
import { makePlace, textsIn } from "./level-harness.js";

const ROUNDS = 3;
const NAMES = ["first", "second", "third"];

let script: string;
beforeAll(async () => {
  const folder = mkdtempSync(join(tmpdir(), "sluice-kill-"));
  script = await bundled(join(import.meta.dirname, "kill-child.mjs"), folder);
  return () => rmSync(folder, { recursive: true, force: true });
});

/** The promises made to the killed process, by entry. */
interface Promised {
  readonly put: Set<string>;
  readonly ids: string[];
  readonly acked: Set<string>;
  readonly failing: Set<string>;
  readonly failed: Set<string>;
}

let child: ChildProcess | undefined;
afterEach(() => void child?.kill("SIGKILL"));

/** Runs the child until it has said so many lines, and a little longer; notes what it says. */
async function runAndKill(promised: Promised, args: readonly string[], lines: number): Promise<void> {
  const running = spawn(process.execPath, [script, ...args], { stdio: ["ignore", "pipe", "inherit"] });
  child = running;
  let seen = 0;
  for await (const line of createInterface({ input: running.stdout })) {
    note(promised, line);
    if (++seen === lines) running.kill("SIGKILL");
  }
  if (running.exitCode === null && running.signalCode === null) await once(running, "exit");
  expect(running.signalCode).toBe("SIGKILL");
}

function note(promised: Promised, line: string): void {
  const [what, text, id] = line.split(" ") as [string, string, string | undefined];
  if (what === "open") expect(JSON.parse(line.slice(5))).toMatchObject({ lostEntries: 0, corruptEntries: 0 });
  else if (what === "put") {
    promised.put.add(text);
    if (id !== undefined) promised.ids.push(id);
  } else if (what === "ack") promised.acked.add(text);
  else if (what === "failing") promised.failing.add(text);
  else if (what === "failed") promised.failed.add(text);
}

describe("a queue whose process is killed", () => {
  for (const [durability, keysOf, what] of [
    ["fsync", () => [], "fsync"],
    ["interval", () => [], "interval"],
    ["process", () => [], "process"],
    ["process", (round: number) => NAMES.slice(0, round + 1).reverse(), "encrypted, with another key every time"],
  ] as const)
    it(`has everything that was promised afterwards (${what})`, async () => {
      const place = makePlace();
      const promised = {
        put: new Set<string>(),
        ids: [],
        acked: new Set<string>(),
        failing: new Set<string>(),
        failed: new Set<string>(),
      };
      for (let round = 0; round < ROUNDS; round++)
        await runAndKill(promised, [place.directory, durability, String(round), ...keysOf(round)], 150 + 97 * round);
      const store = place.store({}, { keyring: keyring(...keysOf(ROUNDS - 1)) });
      expect(await store.open()).toEqual({ isNew: false, lostEntries: 0, corruptEntries: 0, setAside: undefined });
      const shorten = (text: string) => text.replace(/\.+$/, "");
      const pending = (await textsIn(store)).map(shorten);
      const failed = (await textsIn(store, "failed")).map(shorten);
      const all = new Set([...pending, ...failed]);
      expect(all.size).toBe(pending.length + failed.length);
      const missing = [...promised.put].filter((text) => !all.has(text) && !promised.acked.has(text));
      expect(missing).toEqual([]);
      expect([...promised.failed].filter((text) => !failed.includes(text))).toEqual([]);
      expect(failed.filter((text) => !promised.failing.has(text))).toEqual([]);
      expect(new Set(promised.ids).size).toBe(promised.ids.length);
      expect(store.stats).toMatchObject({
        corrupt: 0,
        pending: { entries: pending.length },
        failed: { entries: failed.length },
      });
      await store.close();
      await place.remove();
    });
});
