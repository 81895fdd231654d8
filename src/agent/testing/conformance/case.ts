import { AssertionError } from "node:assert";
import { PATIENCE_MS } from "../eventually.js";
import { newSeed, Random } from "../random.js";

/**
 * One promise of the contract, tried on a component. Any test runner takes it:
 * `for (const { name, run } of processorConformance(plugin)) test(name, run);`
 */
export interface ConformanceCase {
  readonly name: string;
  /** Rejects with what is wrong and the seed to see it again. Cleans up behind itself. */
  run(): Promise<void>;
}

/** What all suites take. */
export interface ConformanceOptions {
  /** Chooses the random data; a new one in every run unless told. */
  readonly seed?: number;
  /** How long to wait for what should happen soon, in milliseconds; 4000 unless told. */
  readonly patienceMs?: number;
  /** Cases that do not apply, by name, with or without the signal. */
  readonly skip?: readonly string[];
}

/** What a case is run with. */
export interface CaseContext {
  readonly random: Random;
  readonly patienceMs: number;
}

export type Cases = Readonly<Record<string, (context: CaseContext) => Promise<void>>>;

/** Makes a suite of named functions. Each gets chance of its own, so that it can be run alone. */
export function suiteOf(cases: Cases, { seed, patienceMs = PATIENCE_MS, skip = [] }: ConformanceOptions) {
  const names = Object.keys(cases);
  const unknown = skip.find((name) => !names.some((other) => isNamed(other, name)));
  if (unknown !== undefined)
    throw new RangeError(`there is no case "${unknown}" to skip; there are: ${names.join("; ")}`);
  const wanted = Object.entries(cases).filter(([name]) => !skip.some((other) => isNamed(name, other)));
  return wanted.map(([name, run]): ConformanceCase => {
    return { name, run: () => runSeeded(seed ?? newSeed(), (random) => run({ random, patienceMs })) };
  });
}

/** A name without a signal means the case for all signals. */
function isNamed(name: string, wanted: string): boolean {
  return name === wanted || name.startsWith(`${wanted} (`);
}

async function runSeeded(seed: number, run: (random: Random) => Promise<void>): Promise<void> {
  try {
    await run(new Random(seed));
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    const text = `${message}
(to see it again: { seed: ${seed} })`;
    const failed = new AssertionError({ message: text });
    if (error instanceof Error && error.stack !== undefined) failed.stack = error.stack.replace(message, text);
    throw failed;
  }
}
