import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { OpenReport } from "../../../src/runtime/queue/store/store.js";
import { type FileDamage, filesOf, type KilledQueue, touched } from "./random-damage.js";

export interface FoundEntry {
  readonly ref: number;
  readonly id: string;
  readonly marker: string;
}

export interface QueueLook {
  readonly report: OpenReport;
  readonly pending: readonly FoundEntry[];
  readonly failed: readonly FoundEntry[];
  readonly corrupt: number;
}

/** The content of a queue when it was opened, and when it was opened again after LevelDB had read all of it. */
export interface Looks {
  readonly first: QueueLook & { readonly setAside: readonly number[] };
  readonly second: QueueLook;
  readonly error?: string;
}

/**
 * Entries that share a block of a table with damage may be lost with it. The key and the entry's metadata are before
 * the text.
 */
const MARGIN = { ldb: 4096 + 512, log: 700 };
/** A log that is cut looks as if a crash had left the last commit unfinished: all of that goes. */
const MAX_COMMIT = 350_000;

/** Where an entry lies: the stretches of files in which its text is found. */
interface Place {
  readonly file: string;
  readonly from: number;
  readonly to: number;
}

/** Knows what a queue held before it was damaged, and tells what is wrong with what is left of it. */
export class DamageOracle {
  readonly entries: readonly FoundEntry[];
  private readonly queue: KilledQueue;
  /** The last entry that the summary knew of when the process was killed. */
  private readonly summaryLast: number;
  private readonly places = new Map<string, Place[]>();

  constructor(queue: KilledQueue, { first }: Looks) {
    this.queue = queue;
    this.summaryLast = Math.max(...["queue.witness", "queue/WITNESS"].map((file) => lastIn(join(queue.root, file))));
    this.entries = [...first.pending, ...first.failed];
    for (const file of filesOf(queue.root).filter((name) => /\.(log|ldb)$/.test(name))) this.findEntries(file);
  }

  /** Describes the violation; empty if all is well. */
  problems(damages: readonly FileDamage[], { error, first, second }: Looks): string[] {
    if (error !== undefined) return [error];
    const problems: string[] = [];
    const found = [...first.pending, ...first.failed].map(({ id }) => id);
    const foundIds = new Set(found);
    if (foundIds.size < found.length) problems.push("an entry is there twice");
    const missing = this.entries.filter(({ id }) => !foundIds.has(id));
    const needless = missing.filter(({ marker }) => this.isUntouched(damages, marker));
    if (needless.length > 0) problems.push(`${needless.map(({ marker }) => marker).join(" ")} not in a damaged place`);
    const lost = this.missing(first);
    if (!this.isUnseen(damages, first.report, lost)) problems.push(...this.reportProblems(first.report, lost.length));
    const ids = (entries: readonly FoundEntry[]) => entries.map(({ id }) => id).join();
    if (ids(first.pending) !== ids(second.pending) || ids(first.failed) !== ids(second.failed))
      problems.push("something else is there when it is opened again");
    const { lostEntries, corruptEntries, setAside: folder } = second.report;
    if (lostEntries + corruptEntries > 0 || folder !== undefined) problems.push("it is not repaired");
    return problems;
  }

  /**
   * Whether a log lost its end, and with it nothing but what was put in the last milliseconds before the kill. It looks as a crash
   * leaves it then, and the summary has not seen those entries, so the two cannot be distinguished.
   */
  isUnseen(damages: readonly FileDamage[], { lostEntries }: OpenReport, lost: readonly FoundEntry[]): boolean {
    const isSilent = lostEntries === 0 && lost.length > 0;
    const isLogHit = damages.some(({ file, swapWith = "" }) => file.endsWith(".log") || swapWith.endsWith(".log"));
    return isSilent && isLogHit && lost.every(({ ref }) => ref > this.summaryLast);
  }

  private reportProblems({ lostEntries, lostBounds }: OpenReport, real: number): string[] {
    const { atLeast, atMost = Number.POSITIVE_INFINITY } = lostBounds ?? { atLeast: lostEntries, atMost: lostEntries };
    return atLeast <= real && real <= atMost ? [] : [`${real} are lost, told: ${atLeast} to ${atMost}`];
  }

  /** Entries that are not there any more, and whose remains are not set aside. */
  missing({ pending, failed, setAside }: Looks["first"]): FoundEntry[] {
    const found = new Set([...pending, ...failed].map(({ id }) => id));
    const kept = new Set(setAside);
    return this.entries.filter(({ id, ref }) => !found.has(id) && !kept.has(ref));
  }

  private isUntouched(damages: readonly FileDamage[], marker: string): boolean {
    const places = this.places.get(marker) ?? [];
    return (
      places.length > 0 &&
      places.every(({ file, from, to }) => {
        const margin = file.endsWith(".log") ? MARGIN.log : MARGIN.ldb;
        return touched(this.queue.root, damages, file).every((at) => {
          const before = file.endsWith(".log") && at.to === Number.POSITIVE_INFINITY ? MAX_COMMIT : margin;
          return at.to + margin <= from || at.from - before >= to;
        });
      })
    );
  }

  private findEntries(file: string): void {
    const text = readFileSync(join(this.queue.root, file), "latin1");
    for (const { marker } of this.entries) {
      const from = text.indexOf(marker);
      if (from < 0) continue;
      const to = text.lastIndexOf(marker) + marker.length;
      this.places.set(marker, [...(this.places.get(marker) ?? []), { file, from, to }]);
    }
  }
}

function lastIn(summaryFile: string): number {
  return (JSON.parse(readFileSync(summaryFile, "utf8").slice(0, 502)) as { last: number }).last;
}
