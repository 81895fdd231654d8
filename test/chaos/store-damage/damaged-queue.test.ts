import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bundled } from "../../support/bundled.js";
import { isLongForm, patience, progress, seed, summary } from "../long-form.js";
import { DamageOracle, type Looks } from "./damage-oracle.js";
import { type FileDamage, type KilledQueue, randomDamages } from "./random-damage.js";

/** DAMAGE_CASES sets another number, CHAOS_SEED repeats them. */
const CASES = Number(process.env["DAMAGE_CASES"] ?? (isLongForm ? 2000 : 40));
const QUEUES = isLongForm ? 8 : 3;
const SESSIONS = 2;

const folder = mkdtempSync(join(tmpdir(), "sluice-damaged-"));
let fill: string;
let look: string;
beforeAll(async () => {
  const scripts = ["fill-queue.mjs", "look-into-queues.mjs"].map((name) => {
    const home = join(folder, name.replace(".mjs", ""));
    mkdirSync(home);
    return bundled(join(import.meta.dirname, name), home);
  });
  [fill, look] = (await Promise.all(scripts)) as [string, string];
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Numbers from 0 to 1, the same ones for the same seed. */
function seededRandom(start: number): () => number {
  let state = start;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/**
 * Lets a process fill a queue, and kills it in the middle of its work. Then another process continues, and is killed
 * too.
 */
async function makeKilledQueue(name: string, random: () => number, keyName?: string): Promise<KilledQueue> {
  const queue = { root: join(folder, name), copies: join(folder, `${name}-copies`), keyName };
  mkdirSync(queue.root);
  mkdirSync(queue.copies);
  for (let session = 0; session < SESSIONS; session++) {
    const steps = 1 + Math.floor(random() * 20);
    const args = [fill, queue.root, queue.copies, String(session), ...(keyName === undefined ? [] : [keyName])];
    const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
    let seen = 0;
    for await (const _ of createInterface({ input: child.stdout })) if (++seen === steps) child.kill("SIGKILL");
    if (child.signalCode === null && child.exitCode === null) await once(child, "exit");
    expect(child.signalCode).toBe("SIGKILL");
  }
  return queue;
}

/** Looks into queues in another process, and starts a new one when that has ended. */
class Looker {
  private child: ChildProcessWithoutNullStreams | undefined;
  private lines: AsyncIterator<string> | undefined;
  private errors = "";

  async look(queue: KilledQueue, damages: readonly FileDamage[]): Promise<Looks> {
    const child = this.child ?? this.start();
    child.stdin.write(`${JSON.stringify({ ...queue, damages })}\n`);
    const { value, done } = await this.lines!.next();
    if (done !== true) return JSON.parse(value) as Looks;
    if (child.signalCode === null && child.exitCode === null) await once(child, "exit");
    this.child = undefined;
    return { error: `the process ended (${child.signalCode ?? child.exitCode}): ${this.errors}` } as Looks;
  }

  stop(): void {
    this.child?.stdin.end();
  }

  private start(): ChildProcessWithoutNullStreams {
    this.child = spawn(process.execPath, [look]);
    this.errors = "";
    this.child.stderr.on("data", (text) => {
      this.errors += text;
    });
    this.child.stdin.on("error", () => {});
    this.lines = createInterface({ input: this.child.stdout })[Symbol.asyncIterator]();
    return this.child;
  }
}

describe("a queue that was killed, and whose files are damaged then", () => {
  it(`opens at the first try, has all that was not hit, and tells what is lost (${CASES} damages, seed ${seed})`, {
    timeout: patience(600_000),
  }, async () => {
    const random = seededRandom(seed);
    const looker = new Looker();
    const tally = { cases: 0, reported: 0, exact: 0, bounded: 0, unseen: 0 };
    const failures: string[] = [];
    for (let n = 0; n < QUEUES; n++) {
      const queue = await makeKilledQueue(`queue-${n}`, random, n % 4 === 2 ? "first" : undefined);
      const whole = await looker.look(queue, []);
      const oracle = new DamageOracle(queue, whole);
      expect(oracle.problems([], whole)).toEqual([]);
      expect(oracle.entries.length).toBeGreaterThan(100);
      for (let i = 0; i < Math.ceil(CASES / QUEUES); i++) {
        const damages = randomDamages(queue, random);
        const looks = await looker.look(queue, damages);
        const problems = oracle.problems(damages, looks);
        if (problems.length > 0) failures.push(summary("damaged queue", { queue: n, damages, problems }));
        else note(tally, looks, oracle);
        progress(`damages ${++tally.cases}/${CASES}, failed ${failures.length}`);
      }
    }
    looker.stop();
    summary("damaged queues", { ...tally, failed: failures.length, seed });
    expect(failures).toEqual([]);
  });
});

function note(tally: Record<string, number>, { first }: Looks, oracle: DamageOracle): void {
  const { report } = first;
  const isReported = report.setAside !== undefined || report.lostEntries > 0;
  if (isReported) {
    tally["reported"]! += 1;
    tally[report.lostBounds === undefined ? "exact" : "bounded"]! += 1;
  } else if (oracle.missing(first).length > 0) tally["unseen"]! += 1;
}
