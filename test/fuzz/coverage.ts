import { Session } from "node:inspector";

/** A stretch of a source text that has not been run, from its first character to before its last. */
interface Stretch {
  readonly start: number;
  readonly end: number;
}

interface FunctionCoverage {
  readonly ranges: readonly { readonly startOffset: number; readonly endOffset: number; readonly count: number }[];
}

interface ScriptCoverage {
  readonly url: string;
  readonly functions: readonly FunctionCoverage[];
}

/** Functions that ran, and the blocks of each that did not. */
export type CoverageSample = readonly { readonly key: string; readonly missed: readonly Stretch[] }[];

/** The code that inputs are to reach; what is around it says nothing about an input. */
function isOwnCode(url: string): boolean {
  return /\/(src|dist)\//.test(url) && !url.includes("/node_modules/");
}

/** V8 counts the blocks of functions that it compiles from here on: so this is imported before the code that is looked at. */
const session = new Session();
session.connect();
session.post("Profiler.enable");
session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: true });

/** Nothing is counted any more: whatever else runs in this process is as fast as ever. */
export function stopCounting(): void {
  session.post("Profiler.stopPreciseCoverage");
  session.disconnect();
}

/**
 * V8's counts of the blocks of our code, read by the inspector of this process. Of each function that has ever run it
 * remembers which of its blocks have not: an input is new that runs one of these.
 */
export class Coverage {
  private readonly notRun = new Map<string, readonly Stretch[]>();

  /** Returns the counts since the last call. */
  take(): CoverageSample {
    const functions = this.collect()
      .filter(({ url }) => isOwnCode(url))
      .flatMap(({ url, functions }) => functions.map(({ ranges }) => sampleOf(url, ranges)));
    return functions.filter((each) => each !== undefined);
  }

  /** Whether a function or a block of it is in the sample that was in none that was remembered. */
  isNew(sample: CoverageSample): boolean {
    return sample.some(({ key, missed }) => {
      const before = this.notRun.get(key);
      return before === undefined || lengthOf(stillMissed(before, missed)) < lengthOf(before);
    });
  }

  remember(sample: CoverageSample): void {
    for (const { key, missed } of sample) {
      const before = this.notRun.get(key);
      this.notRun.set(key, before === undefined ? missed : stillMissed(before, missed));
    }
  }

  /** Answers at once: the inspector is in this thread. */
  private collect(): readonly ScriptCoverage[] {
    let result: readonly ScriptCoverage[] = [];
    session.post("Profiler.takePreciseCoverage", (error, answer) => {
      if (error === null) result = answer.result;
    });
    return result;
  }
}

/** Undefined for a function that did not run. */
function sampleOf(url: string, ranges: FunctionCoverage["ranges"]): CoverageSample[number] | undefined {
  const [whole, ...blocks] = ranges;
  if (whole === undefined || whole.count === 0) return undefined;
  const missed = blocks
    .filter(({ count }) => count === 0)
    .map(({ startOffset, endOffset }) => ({ start: startOffset, end: endOffset }));
  return { key: `${url} ${whole.startOffset}-${whole.endOffset}`, missed };
}

function stillMissed(before: readonly Stretch[], missed: readonly Stretch[]): Stretch[] {
  return before.flatMap((stretch) => partsIn(stretch, missed));
}

function partsIn({ start, end }: Stretch, others: readonly Stretch[]): Stretch[] {
  return others
    .map((other) => ({ start: Math.max(start, other.start), end: Math.min(end, other.end) }))
    .filter((part) => part.start < part.end);
}

function lengthOf(stretches: readonly Stretch[]): number {
  return stretches.reduce((sum, { start, end }) => sum + end - start, 0);
}
