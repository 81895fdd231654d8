import { Coverage, type CoverageSample } from "./coverage.js";
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
   * that must not be. A target that needs more randomness takes it from `random`.
   */
  readonly run: (input: Buffer, random: Random) => string | Promise<string>;
}

export interface FuzzResult {
  readonly inputs: number;
  readonly outcomes: number;
  /** Inputs that caused a new outcome. */
  readonly found: readonly Buffer[];
  /** Inputs that ran code which none had run before. */
  readonly reached: readonly Buffer[];
  readonly slowestMs: number;
}

/** Longer inputs take longer and find no more. */
const MAX_INPUT_BYTES = 4096;
const MAX_CORPUS = 4000;
/** To ask what was run costs as much as dozens of inputs: it is asked for so many together, and then for halves of them. */
const INPUTS_TOGETHER = 64;

export interface FuzzOptions {
  readonly inputs: number;
  readonly seed: number;
  /** How often it may be asked what code was run; 0: never. */
  readonly maxSamples: number;
  /** When the target has had its share of the time, by `performance.now`. */
  readonly endsAt?: number;
}

/**
 * Changes inputs over and over, beginning with seeds, and continues with those that caused a new outcome (another
 * refusal, another size) or ran code that none had run before. Throws with the input that broke something.
 */
export async function fuzz(
  target: FuzzTarget,
  kept: readonly Buffer[],
  { inputs, seed, maxSamples, endsAt = Number.POSITIVE_INFINITY }: FuzzOptions,
): Promise<FuzzResult> {
  const random = new Random(seed);
  const outcomes = new Set<string>();
  const corpus: Buffer[] = [];
  const found: Buffer[] = [];
  const guide = maxSamples > 0 ? new CoverageGuide(target, maxSamples) : undefined;
  const addToCorpus = (input: Buffer) => {
    if (corpus.length < MAX_CORPUS) corpus.push(Buffer.from(input));
  };
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
  guide?.begin();
  let tried = 0;
  for (; tried < inputs && performance.now() < endsAt; tried++) {
    // Half of the time it continues from the latest finds.
    const from = random.oneIn(2) ? random.below(corpus.length) : Math.max(0, corpus.length - 1 - random.below(16));
    let input = corpus[from]!;
    for (let step = random.below(4); step >= 0; step--) input = target.mutate(input, random, random.pick(corpus));
    input = input.subarray(0, MAX_INPUT_BYTES);
    const isNew = await tryInput(input);
    for (const reaching of (await guide?.add(input)) ?? []) addToCorpus(reaching);
    if (!isNew || corpus.length >= MAX_CORPUS) continue;
    addToCorpus(input);
    found.push(Buffer.from(input));
  }
  return { inputs: tried, outcomes: outcomes.size, found, reached: guide?.reached ?? [], slowestMs };
}

/** Finds those of the inputs that run code which none had run before. */
class CoverageGuide {
  readonly reached: Buffer[] = [];
  private readonly coverage = new Coverage();
  private readonly target: FuzzTarget;
  private samplesLeft: number;
  private together: Buffer[] = [];

  constructor(target: FuzzTarget, maxSamples: number) {
    this.target = target;
    this.samplesLeft = maxSamples;
  }

  /** Marks everything that has run so far as known. */
  begin(): void {
    this.coverage.remember(this.coverage.take());
  }

  /** An input that was just run. Gives those that reached something, when it is time to ask. */
  async add(input: Buffer): Promise<readonly Buffer[]> {
    if (this.samplesLeft <= 0) return [];
    this.together.push(Buffer.from(input));
    if (this.together.length < INPUTS_TOGETHER) return [];
    const inputs = this.together;
    this.together = [];
    const sample = this.sample();
    const found = this.coverage.isNew(sample) ? await this.findReaching(inputs) : [];
    this.coverage.remember(sample); // also what ran for other reasons than an input
    this.reached.push(...found);
    return found;
  }

  /** Runs them again, and halves of them, down to single ones. */
  private async findReaching(inputs: readonly Buffer[]): Promise<Buffer[]> {
    if (this.samplesLeft <= 0) return [];
    const random = new Random(1);
    for (const input of inputs) await this.target.run(input, random);
    const sample = this.sample();
    if (!this.coverage.isNew(sample)) return [];
    if (inputs.length === 1) {
      this.coverage.remember(sample);
      return [...inputs];
    }
    const middle = inputs.length >> 1;
    return [...(await this.findReaching(inputs.slice(0, middle))), ...(await this.findReaching(inputs.slice(middle)))];
  }

  private sample(): CoverageSample {
    this.samplesLeft -= 1;
    return this.coverage.take();
  }
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

/** The same bytes, cut anywhere. */
export function pieces(input: Buffer, random: Random): Buffer[] {
  const cut: Buffer[] = [];
  for (let at = 0; at < input.length; ) {
    const end = at + 1 + random.below(random.oneIn(3) ? 200 : 4);
    cut.push(input.subarray(at, end));
    at = end;
  }
  return cut.length === 0 ? [input] : cut;
}
