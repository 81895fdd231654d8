import type { Mutator } from "./mutate-bytes.js";
import { Random } from "./random.js";

/** Something that reads what others have written. */
export interface FuzzTarget {
  readonly name: string;
  /** Of all inputs, as many parts as this. */
  readonly share: number;
  readonly seeds: readonly Buffer[];
  readonly mutate: Mutator;
  /**
   * Reads the input and holds the outcome to the laws that there are. Returns what came of it in a few words; throws for anything
   * that must not be. Whoever needs more chance takes it from `random`.
   */
  readonly run: (input: Buffer, random: Random) => string | Promise<string>;
}

export interface FuzzResult {
  readonly inputs: number;
  readonly outcomes: number;
  /** Inputs that brought an outcome nobody had seen before. */
  readonly found: readonly Buffer[];
  readonly slowestMs: number;
}

/** Longer inputs take longer and find no more. */
const MAX_INPUT_BYTES = 4096;
const MAX_CORPUS = 4000;

/**
 * Changes inputs over and over, beginning with seeds, and goes on with those that brought a new outcome: another refusal, another
 * size. Throws with the input that broke something.
 */
export async function fuzz(
  target: FuzzTarget,
  kept: readonly Buffer[],
  inputs: number,
  seed: number,
): Promise<FuzzResult> {
  const random = new Random(seed);
  const outcomes = new Set<string>();
  const corpus: Buffer[] = [];
  const found: Buffer[] = [];
  let slowestMs = 0;
  const tryInput = async (input: Buffer): Promise<boolean> => {
    const before = performance.now();
    let outcome: string | Promise<string>;
    try {
      outcome = target.run(input, random);
      if (outcome instanceof Promise) outcome = await outcome;
    } catch (error) {
      throw new Error(`${target.name} broke on ${input.toString("base64")}`, { cause: error });
    }
    slowestMs = Math.max(slowestMs, performance.now() - before);
    if (outcomes.has(outcome)) return false;
    outcomes.add(outcome);
    return true;
  };
  for (const input of [...target.seeds, ...kept]) {
    await tryInput(input);
    corpus.push(input);
  }
  for (let i = 0; i < inputs; i++) {
    // Half of the time it goes on from what was found last.
    const from = random.oneIn(2) ? random.below(corpus.length) : Math.max(0, corpus.length - 1 - random.below(16));
    let input = corpus[from]!;
    for (let step = random.below(4); step >= 0; step--) input = target.mutate(input, random, random.pick(corpus));
    input = input.subarray(0, MAX_INPUT_BYTES);
    if (!(await tryInput(input)) || corpus.length >= MAX_CORPUS) continue;
    corpus.push(Buffer.from(input));
    found.push(Buffer.from(input));
  }
  return { inputs, outcomes: outcomes.size, found, slowestMs };
}

/** A message without what differs from input to input. */
export function shapeOf(message: string): string {
  return message
    .replace(/"[^"]*"|'[^']*'|`[^`]*`/g, "_")
    .replace(/[\d.,]+/g, "#")
    .slice(0, 100);
}

/** 0, 1, 2, 4, 8 ...: enough to tell sizes from each other. */
export function magnitude(size: number): number {
  return 32 - Math.clz32(size);
}

export function assert(condition: boolean, what: string): asserts condition {
  if (!condition) throw new Error(what);
}
