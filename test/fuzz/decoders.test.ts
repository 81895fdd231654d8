import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { isFuzzing } from "../support/runs.js";
import { type FuzzTarget, fuzz } from "./fuzz.js";
import { mutateBytes } from "./mutate-bytes.js";
import { languageTargets } from "./targets/language.js";
import { storeTargets } from "./targets/store.js";
import { telemetryTargets } from "./targets/telemetry.js";
import { wireTargets } from "./targets/wire.js";

const TARGETS = [...telemetryTargets, ...wireTargets, ...languageTargets, ...storeTargets];
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

const MAX_KEPT = 60;
const MAX_KEPT_BYTES = 300;

describe("inputs that nobody would write", () => {
  it.each(TARGETS.map((target) => [target.name, target] as const))("break nothing: %s", async (_, target) => {
    const kept = keptInputs(target);
    const inputs = Math.ceil((INPUTS * target.share) / SHARES);
    const { outcomes, found, slowestMs } = await fuzz(target, kept, inputs, SEED);
    expect(outcomes).toBeGreaterThan(1);
    if (isFuzzing) {
      const slowest = `slowest ${slowestMs.toFixed(1)} ms`;
      process.stdout.write(`${target.name}: ${inputs} inputs, ${outcomes} outcomes, ${slowest}, seed ${SEED}\n`);
    }
    if (process.env["FUZZ_KEEP"] === undefined) return;
    const short = found.filter(({ length }) => length <= MAX_KEPT_BYTES).slice(0, Math.max(0, MAX_KEPT - kept.length));
    const lines = [...kept, ...short].map((input) => `${input.toString("base64")}\n`);
    if (lines.length > 0) writeFileSync(corpusFile(target), lines.join(""));
  });

  it("would be found if they broke something", async () => {
    const run = (input: Buffer) => {
      if (input.length > 3 && input[2] === 0xff) throw new Error("broken");
      return String(input.length);
    };
    const target = { name: "weak", share: 1, seeds: [Buffer.alloc(8)], mutate: mutateBytes, run };
    await expect(fuzz(target, [], 10_000, 1)).rejects.toThrow(/^weak broke on [\w+/=]+$/);
  });
});
