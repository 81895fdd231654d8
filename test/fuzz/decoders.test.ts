import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runInThisContext } from "node:vm";
import { afterAll, describe, expect, it } from "vitest";
import { FUZZ_LIMIT_MS, isFuzzing } from "../support/runs.js";
// Before everything whose blocks are to be counted.
import { stopCounting } from "./coverage.js";
import { type FuzzTarget, fuzz } from "./fuzz.js";
import { mutateBytes } from "./mutate-bytes.js";
import { appTargets } from "./targets/app-records.js";
import { clusterTargets } from "./targets/cluster.js";
import { rowTargets } from "./targets/database-rows.js";
import { eventTargets } from "./targets/events.js";
import { expositionTargets } from "./targets/exposition.js";
import { languageTargets } from "./targets/language.js";
import { lineTargets } from "./targets/log-lines.js";
import { machineTargets } from "./targets/machine.js";
import { protocolTargets } from "./targets/protocols.js";
import { requestTargets } from "./targets/received-requests.js";
import { spanTargets } from "./targets/span-formats.js";
import { sqsTargets } from "./targets/sqs-answers.js";
import { statisticsTargets } from "./targets/statistics.js";
import { storeTargets } from "./targets/store.js";
import { telemetryTargets } from "./targets/telemetry.js";
import { wireTargets } from "./targets/wire.js";

const TARGETS = [
  ...telemetryTargets,
  ...wireTargets,
  ...spanTargets,
  ...requestTargets,
  ...expositionTargets,
  ...lineTargets,
  ...eventTargets,
  ...sqsTargets,
  ...rowTargets,
  ...machineTargets,
  ...appTargets,
  ...statisticsTargets,
  ...clusterTargets,
  ...languageTargets,
  ...protocolTargets,
  ...storeTargets,
];
const SHARES = TARGETS.reduce((sum, { share }) => sum + share, 0);

/** Inputs over all decoders: FUZZ_INPUTS, or a million in `npm run fuzz`, or what takes a few seconds. */
const INPUTS = Number(process.env["FUZZ_INPUTS"] ?? (isFuzzing ? 1_000_000 : 20_000));
/** The suite tries the same inputs every time, the long form others. */
const SEED = Number(process.env["FUZZ_SEED"] ?? (isFuzzing ? Date.now() % 2 ** 31 : 1));

/**
 * Inputs that once brought an outcome of their own, or broke something: a line of base64 each, a file for each decoder. With
 * FUZZ_KEEP the short ones among those that are found are added.
 */
function corpusFile({ name }: FuzzTarget): string {
  return join(import.meta.dirname, "corpus", `${name.replace(/[^\w]+/g, "-").toLowerCase()}.txt`);
}

function keptInputs(target: FuzzTarget): Buffer[] {
  const file = corpusFile(target);
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, "utf8").split("\n");
  return lines.filter((line) => line !== "").map((line) => Buffer.from(line, "base64"));
}

/** How often a decoder is asked what code its inputs ran: every time in the long form, in the suite a few times. */
const MAX_SAMPLES = Number(process.env["FUZZ_SAMPLES"] ?? (isFuzzing ? 20_000 : 20));

const MAX_KEPT = 60;
const MAX_REACHING = 120;
const MAX_KEPT_BYTES = 300;

afterAll(stopCounting);

describe("inputs that nobody would write", () => {
  it.each(TARGETS.map((target) => [target.name, target] as const))("break nothing: %s", async (_, target) => {
    const kept = keptInputs(target);
    const wanted = Math.ceil((INPUTS * target.share) / SHARES);
    const ms = isFuzzing ? (FUZZ_LIMIT_MS / 2) * (target.share / SHARES) : Number.POSITIVE_INFINITY;
    const options = { inputs: wanted, seed: SEED, maxSamples: MAX_SAMPLES, endsAt: performance.now() + ms };
    const { inputs, outcomes, found, reached, slowestMs } = await fuzz(target, kept, options);
    expect(outcomes).toBeGreaterThan(1);
    if (isFuzzing) {
      const slowest = `slowest ${slowestMs.toFixed(1)} ms`;
      const figures = `${inputs} inputs, ${outcomes} outcomes, ${reached.length} that reached new code, ${slowest}`;
      process.stdout.write(`${target.name}: ${figures}, seed ${SEED}\n`);
    }
    if (process.env["FUZZ_KEEP"] === undefined) return;
    const isShort = ({ length }: Buffer) => length <= MAX_KEPT_BYTES;
    const fresh = found.filter(isShort).slice(0, Math.max(0, MAX_KEPT - kept.length));
    const reaching = reached.filter(isShort).slice(0, Math.max(0, MAX_REACHING - kept.length));
    const lines = new Set([...kept, ...reaching, ...fresh].map((input) => `${input.toString("base64")}\n`));
    if (lines.size > 0) writeFileSync(corpusFile(target), [...lines].join(""));
  });

  it("are led, block by block, to code that hardly any of them would run by chance", async () => {
    const source = `"use strict";
    (input, found) => {
      if (input[0] === 64) { if (input[1] === 4) { if (input[2] === 32) { if (input[3] === 2) found(); } } }
    }`;
    type Stairs = (input: Buffer, found: () => void) => void;
    const foundWith = async (maxSamples: number) => {
      const stairs = runInThisContext(source, { filename: `/somewhere/src/stairs-${maxSamples}.js` }) as Stairs;
      let count = 0;
      const run = (input: Buffer) => {
        stairs(input, () => void (count += 1));
        return "always the same";
      };
      const target = { name: "stairs", share: 1, seeds: [Buffer.alloc(4)], mutate: mutateBytes, run };
      await fuzz(target, [], { inputs: 10_000, seed: 1, maxSamples });
      return count;
    };
    expect(await foundWith(0)).toBe(0);
    expect(await foundWith(2000)).toBeGreaterThan(0);
  });

  it("would be found if they broke something", async () => {
    const run = (input: Buffer) => {
      if (input.length > 3 && input[2] === 0xff) throw new Error("broken");
      return String(input.length);
    };
    const target = { name: "weak", share: 1, seeds: [Buffer.alloc(8)], mutate: mutateBytes, run };
    await expect(fuzz(target, [], { inputs: 10_000, seed: 1, maxSamples: 0 })).rejects.toThrow(
      /^weak broke on [\w+/=]+$/,
    );
  });
});
