import { AssertionError } from "node:assert";
import { PATIENCE_MS } from "../eventually.js";
import { newSeed, Random } from "../fakes.js";

/**
 * Checks one promise of the contract on a component. Works with any test runner: `for (const { name, run } of
 * processorConformance(plugin)) test(name, run);`
 */
export interface ConformanceCase {
  readonly name: string;
  /** Rejects with the failure and the seed that reproduces it. Cleans up after itself. */
  run(): Promise<void>;
}

/** Options of all suites. */
export interface ConformanceOptions {
  /** Seed of the random data; default: a new one for every run. */
  readonly seed?: number;
  /** How long to wait for something that should happen soon, in milliseconds; default: 4000. */
  readonly patienceMs?: number;
  /** Names of cases that do not apply, with or without the signal. */
  readonly skip?: readonly string[];
}

/** The arguments of a case. */
export interface CaseContext {
  readonly random: Random;
  readonly patienceMs: number;
}

export type Cases = Readonly<Record<string, (context: CaseContext) => Promise<void>>>;

/**
 * Makes a suite of named functions. Each gets its own random generator, so that it gives the same result when run
 * alone.
 */
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

/** A name without a signal matches the case of every signal. */
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
