import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { Random } from "../../../../src/agent/testing/fakes.js";
import type { ExporterStatus } from "../../../../src/runtime/contract/operations/admin.js";
import type { Entry } from "../../../../src/runtime/contract/operations/entry.js";
import { bundled } from "../../../support/bundled.js";
import { temporaryFolder } from "../../../support/temporary-folder.js";
import { until } from "../../../support/until.js";

let script: string;
beforeAll(async () => {
  const bundle = mkdtempSync(join(tmpdir(), "sluice-worker-"));
  script = await bundled(join(import.meta.dirname, "worker-child.mjs"), bundle);
  return () => rmSync(bundle, { recursive: true, force: true });
});

let folder: string;
const running: ChildProcess[] = [];
beforeEach(() => {
  folder = temporaryFolder();
});
afterEach(() => {
  for (const child of running.splice(0)) child.kill("SIGKILL");
});

interface Worker {
  readonly child: ChildProcess;
  readonly exited: Promise<unknown>;
  /** Its log lines. */
  readonly lines: Record<string, unknown>[];
  ask<T>(what: object): Promise<T>;
}

/** Starts a worker, and waits until it is ready or has ended. */
async function start(number: number, count: number, options: object = {}): Promise<Worker> {
  const { journal, ...part } = options as { journal?: string };
  const settings = { folder, journal, worker: { number, count, ...part } };
  const child = fork(script, [JSON.stringify(settings)], { stdio: ["ignore", "pipe", "ignore", "ipc"] });
  running.push(child);
  const lines: Record<string, unknown>[] = [];
  let text = "";
  child.stdout!.on("data", (chunk: Buffer) => {
    text += chunk.toString();
    const parts = text.split("\n");
    text = parts.pop()!;
    for (const part of parts) lines.push(JSON.parse(part) as Record<string, unknown>);
  });
  const answers = new Map<number | string, (result: unknown) => void>();
  child.on("message", ({ id, result }: { id: number | string; result: unknown }) => answers.get(id)?.(result));
  const exited = once(child, "exit");
  let last = 0;
  const ask = <T>(what: object) =>
    new Promise<T>((resolve) => {
      answers.set(++last, resolve as (result: unknown) => void);
      child.send({ id: last, ...what }, () => {});
    });
  await Promise.race([exited, new Promise((resolve) => answers.set("ready", resolve))]);
  return { child, exited, lines, ask };
}

async function kill({ child, exited }: Worker): Promise<void> {
  child.kill("SIGKILL");
  await exited;
}

const ENTRIES = 300;
const KILLS = 12;
const isAdopting = ({ message }: Record<string, unknown>) => /^adopting/.test(String(message));
const taken = () =>
  existsSync(join(folder, "taken")) ? readFileSync(join(folder, "taken"), "utf8").trim().split("\n") : [];
const workerFolders = () => readdirSync(join(folder, "queue")).filter((name) => name.startsWith("worker-"));
const switchOn = (name: "up" | "open") => writeFileSync(join(folder, name), "");

describe.each([
  ["queues", "off"],
  ["journals", "on"],
])("the %s of workers that are gone", (_, journal) => {
  it("are adopted without loss and without a double, although the adopting process is killed again and again", async () => {
    const random = new Random(7);
    const sent: string[] = [];
    for (const number of [2, 3]) {
      const worker = await start(number, 3, { journal });
      for (let i = 0; i < ENTRIES; i++) {
        const body = `worker-${number}-${i}`;
        expect(await worker.ask({ send: [body] })).toBe(true);
        sent.push(body);
      }
      await kill(worker);
    }
    const found = new Set<unknown>();
    for (let i = 0; i < KILLS; i++) {
      const count = i % 4 === 3 ? 2 : 1;
      const [first, second] = await Promise.all([
        start(1, count, { journal }),
        count === 2 && start(2, 2, { journal }),
      ]);
      const body = `first-${i}`;
      if (await first.ask({ send: [body] })) sent.push(body);
      await until(() => expect(first.lines.some(isAdopting) || workerFolders().length < count).toBe(true));
      await new Promise((resolve) => setTimeout(resolve, random.below(400)));
      await Promise.all([kill(first), second && kill(second)]);
      for (const { entries } of first.lines.filter(isAdopting)) found.add(entries);
    }
    expect(found.size).toBeGreaterThan(2); // some kills came when only a part had been moved
    switchOn("open");
    switchOn("up");
    const last = await start(1, 1, { journal });
    await until(() => expect(taken().length).toBeGreaterThanOrEqual(sent.length));
    await until(() => expect(workerFolders()).toEqual([]));
    expect(taken().sort()).toEqual(sent.sort());
    expect((await last.ask<ExporterStatus[]>({ admin: "status" })).map(({ queue }) => queue.entries)).not.toContain(1);
  });
});

describe("an entry that kills its worker", () => {
  it.each([
    ["in the exporter", "off", "poison", "file"],
    ["in a processor", "on", "poison processor", "intake/logs"],
    ["by a loop without end", "on", "endless processor", "intake/logs"],
  ])("%s is set aside after two careful crashes, and nothing else is", async (_, journal, poison, queue) => {
    const filling = await start(2, 2, { journal });
    const good = Array.from({ length: 20 }, (__, i) => `good-${i}`);
    for (const body of good.slice(0, 10)) await filling.ask({ send: [body] });
    await kill(filling);
    switchOn("up");
    switchOn("open");
    const struck = await start(2, 2, { journal });
    void struck.ask({ send: [poison] });
    if (poison.startsWith("endless")) {
      await new Promise((resolve) => setTimeout(resolve, 1000));
      struck.child.kill("SIGKILL");
    }
    await struck.exited;
    for (let i = 0; i < 2; i++) {
      const careful = await start(2, 2, { journal, careful: true });
      if (poison.startsWith("endless")) {
        await until(() => expect(existsSync(join(folder, "queue", "worker-2", "suspect.json"))).toBe(true));
        await new Promise((resolve) => setTimeout(resolve, 1000));
        careful.child.kill("SIGKILL");
      }
      await careful.exited;
    }
    const last = await start(2, 2, { journal, careful: true });
    for (const body of good.slice(10)) await last.ask({ send: [body] });
    await until(() => expect(new Set(taken())).toEqual(new Set(good)));
    const dead = await last.ask<Entry[]>({ admin: "dead" });
    expect(dead.map(({ exporter, failure }) => [exporter, failure?.reason])).toEqual([[queue, "crash_loop"]]);
    expect(dead[0]!.failure!.error.message).toContain(
      `crashed 2 times in a row while entry ${dead[0]!.id} of ${queue}`,
    );
    expect(last.lines).toContainEqual(
      expect.objectContaining({
        level: "error",
        entry: dead[0]!.id,
        crashes: 2,
        message: expect.stringMatching(/^crash loop/),
      }),
    );
  });
});
