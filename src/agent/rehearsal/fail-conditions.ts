import type { RehearsalReport } from "#contract/rehearsal";

/** A number of a report that a condition can be about, and what its percentage is a share of. */
interface Measure {
  readonly about: string;
  readonly needsComparison: boolean;
  amount(report: RehearsalReport): number;
  whole(report: RehearsalReport): number;
}

const beforeRecords = ({ total }: RehearsalReport) => total.before.records;

/** The numbers that `--fail-on` knows. */
export const MEASURES: Readonly<Record<string, Measure>> = {
  drop: {
    about: "records that an exporter no longer gets",
    needsComparison: true,
    amount: ({ total }) => total.dropped,
    whole: beforeRecords,
  },
  new: {
    about: "records that an exporter did not get before",
    needsComparison: true,
    amount: ({ total }) => total.new,
    whole: beforeRecords,
  },
  changed: {
    about: "records with other content",
    needsComparison: true,
    amount: ({ total }) => total.changed,
    whole: beforeRecords,
  },
  errors: {
    about: "errors about records, and in the log, that only the new config causes",
    needsComparison: false,
    amount: ({ newErrors }) => newErrors,
    whole: ({ sample }) => sample.records,
  },
  bytes: {
    about: "growth of the bytes that exporters get",
    needsComparison: true,
    amount: ({ total }) => total.after.bytes - total.before.bytes,
    whole: ({ total }) => total.before.bytes,
  },
  cpu: {
    about: "growth of the CPU time per record, in microseconds",
    needsComparison: true,
    amount: ({ cpu }) => (cpu.after ?? 0) - (cpu.before ?? 0),
    whole: ({ cpu }) => cpu.before ?? 0,
  },
};

/** A condition under which a rehearsal counts as failed. */
export interface FailCondition {
  /** As written. */
  readonly text: string;
  readonly needsComparison: boolean;
  holds(report: RehearsalReport): boolean;
}

/** Reads `drop>1%` or `errors>0`; returns undefined for any other text. */
export function parseFailCondition(text: string): FailCondition | undefined {
  const [, name, operator, number, percent] = /^(\w+)\s*(>=?)\s*(\d+(?:\.\d+)?)\s*(%?)$/.exec(text.trim()) ?? [];
  const measure = Object.hasOwn(MEASURES, name ?? "") ? MEASURES[name!] : undefined;
  if (measure === undefined) return undefined;
  const limit = Number(number);
  return {
    text: text.trim(),
    needsComparison: measure.needsComparison,
    holds(report) {
      const value =
        percent === "%" ? percentage(measure.amount(report), measure.whole(report)) : measure.amount(report);
      return operator === ">" ? value > limit : value >= limit;
    },
  };
}

/** Anything out of nothing is more than any percentage. */
function percentage(amount: number, whole: number): number {
  if (whole > 0) return (amount / whole) * 100;
  return amount > 0 ? Number.POSITIVE_INFINITY : 0;
}
