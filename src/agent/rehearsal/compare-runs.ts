import type {
  ErrorComparison,
  ExporterComparison,
  FieldComparison,
  RecordExample,
  RehearsalReport,
  RehearsedAmount,
  SampleFacts,
} from "#contract/rehearsal";
import type { Signal } from "#otlp/signals";
import { SliceTimer } from "#work";
import { FieldChanges, type Mask, shownRecord } from "./field-changes.js";
import { type ChangedRecord, type Matching, matchRecords } from "./match-records.js";
import { type OutputRecord, recordsOf } from "./output-records.js";
import type { RehearsalOutput, RehearsalRun } from "./rehearsal-run.js";

/** Decoding a record costs much more than passing it on, so the fields of only this many are compared per exporter. */
const MAX_EXAMINED = 2000;
const MAX_EXAMPLES = 3;
/** The time of fewer records is mostly that of the start and the end. */
const MIN_MEASURED = 1000;

type ComparedRun = Pick<RehearsalRun, "outputs" | "errors" | "costs">;

/** The records of one signal that one exporter gets from both configs. */
interface ExporterOutputs {
  readonly exporter: string;
  readonly signal: Signal;
  readonly before: SideOutput;
  readonly after: SideOutput;
}

interface SideOutput {
  readonly records: OutputRecord[];
  bytes: number;
}

/** Compares what two configs made of the same sample. Works in slices, so that it does not hold the event loop. */
export async function compareRuns(
  before: ComparedRun | undefined,
  after: ComparedRun,
  sample: SampleFacts,
  mask: Mask,
): Promise<RehearsalReport> {
  const slices = new SliceTimer();
  const outputs = await outputsByExporter(before?.outputs ?? [], after.outputs, slices);
  const isComparison = before !== undefined;
  const matchings: ExporterMatching[] = [];
  for (const each of outputs) {
    const matching = isComparison
      ? await matchRecords(each.signal, each.before.records, each.after.records, slices)
      : { unchanged: 0, changed: [], gone: [], added: [] };
    matchings.push({ ...each, ...matching, moved: 0, arrived: 0 });
  }
  const moved = isComparison ? await findMoved(matchings, slices) : [];
  const details = await describeChanges(matchings, mask, slices);
  const exporters = matchings.map(comparisonOf);
  const errors = compareErrors(before?.errors ?? [], after.errors);
  return {
    sample,
    isComparison,
    exporters,
    total: totalOf(exporters),
    moved,
    ...details,
    errors,
    newErrors: errors.reduce((sum, error) => sum + Math.max(0, error.after - error.before), 0),
    cpu: { before: before && cpuOf(before, sample), after: cpuOf(after, sample) },
  };
}

/** In the order of the exporters' names. */
async function outputsByExporter(
  before: readonly RehearsalOutput[],
  after: readonly RehearsalOutput[],
  slices: SliceTimer,
): Promise<ExporterOutputs[]> {
  const found = new Map<string, ExporterOutputs>();
  const side = (): SideOutput => ({ records: [], bytes: 0 });
  for (const [name, outputs] of [["before", before] as const, ["after", after] as const]) {
    for (const { exporter, batch } of outputs) {
      if (slices.isOver) await slices.nextSlice();
      const key = `${exporter} ${batch.signal}`;
      const known = found.get(key) ?? { exporter, signal: batch.signal, before: side(), after: side() };
      found.set(key, known);
      for (const record of recordsOf(batch)) known[name].records.push(record);
      known[name].bytes += batch.byteLength;
    }
  }
  return [...found].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, each]) => each);
}

interface ExporterMatching extends ExporterOutputs, Matching {
  gone: readonly OutputRecord[];
  added: readonly OutputRecord[];
  /** Records that another exporter gets instead, and those that it gets instead of another. */
  moved: number;
  arrived: number;
}

/** A record that is gone from one exporter and new at another has moved. */
async function findMoved(
  matchings: readonly ExporterMatching[],
  slices: SliceTimer,
): Promise<RehearsalReport["moved"]> {
  const moved: { from: string; to: string; records: number }[] = [];
  for (const from of matchings) {
    for (const to of matchings) {
      if (from === to || from.signal !== to.signal || from.gone.length === 0 || to.added.length === 0) continue;
      const { unchanged, changed, gone, added } = await matchRecords(from.signal, from.gone, to.added, slices);
      const records = unchanged + changed.length;
      if (records === 0) continue;
      from.gone = gone;
      to.added = added;
      from.moved += records;
      to.arrived += records;
      moved.push({ from: from.exporter, to: to.exporter, records });
    }
  }
  return moved;
}

async function describeChanges(
  matchings: readonly ExporterMatching[],
  mask: Mask,
  slices: SliceTimer,
): Promise<Pick<RehearsalReport, "fields" | "changedExamined" | "examples">> {
  const fields: FieldComparison[] = [];
  const examples: RecordExample[] = [];
  let changedExamined = 0;
  for (const { exporter, signal, changed, gone, added } of matchings) {
    const changes = new FieldChanges(mask);
    const examined = spread(changed, MAX_EXAMINED);
    changedExamined += examined.length;
    for (const pair of examined) {
      if (slices.isOver) await slices.nextSlice();
      changes.add(pair);
    }
    for (const change of changes.all) fields.push({ exporter, signal, ...change });
    for (const [what, records] of [["dropped", gone] as const, ["new", added] as const])
      for (const record of spread(records, MAX_EXAMPLES))
        examples.push({ exporter, signal, what, ...shownRecord(record, mask) });
  }
  return { fields, changedExamined, examples };
}

/** At most `count` items, evenly spread. */
function spread<T extends ChangedRecord | OutputRecord>(items: readonly T[], count: number): readonly T[] {
  if (items.length <= count) return items;
  return Array.from({ length: count }, (_, i) => items[Math.floor((i * items.length) / count)]!);
}

function comparisonOf(matching: ExporterMatching): ExporterComparison {
  const { exporter, signal, before, after, unchanged, changed, gone, added, moved, arrived } = matching;
  const amount = ({ records, bytes }: SideOutput): RehearsedAmount => ({ records: records.length, bytes });
  return {
    exporter,
    signal,
    before: amount(before),
    after: amount(after),
    unchanged,
    changed: changed.length,
    dropped: gone.length,
    new: added.length,
    moved: Math.max(moved, arrived),
  };
}

function totalOf(exporters: readonly ExporterComparison[]): RehearsalReport["total"] {
  const sum = (pick: (each: ExporterComparison) => number) => exporters.reduce((all, each) => all + pick(each), 0);
  return {
    before: { records: sum(({ before }) => before.records), bytes: sum(({ before }) => before.bytes) },
    after: { records: sum(({ after }) => after.records), bytes: sum(({ after }) => after.bytes) },
    unchanged: sum((each) => each.unchanged),
    changed: sum((each) => each.changed),
    dropped: sum((each) => each.dropped),
    new: sum((each) => each.new),
    moved: sum((each) => each.before.records - each.unchanged - each.changed - each.dropped),
  };
}

/** The errors of both, those that the new config adds first. */
function compareErrors(before: ComparedRun["errors"], after: ComparedRun["errors"]): ErrorComparison[] {
  const found = new Map<string, { -readonly [Key in keyof ErrorComparison]: ErrorComparison[Key] }>();
  for (const [side, errors] of [["before", before] as const, ["after", after] as const]) {
    for (const { kind, where, message, count } of errors) {
      const key = `${kind} ${where} ${message}`;
      const known = found.get(key) ?? { kind, where, message, before: 0, after: 0 };
      known[side] += count;
      found.set(key, known);
    }
  }
  return [...found.values()].toSorted((a, b) => b.after - b.before - (a.after - a.before));
}

/** The median, because the first parts pay for compilation. */
function cpuOf({ costs }: ComparedRun, { records }: SampleFacts): number | undefined {
  return records < MIN_MEASURED ? undefined : costs.toSorted((a, b) => a - b)[Math.floor(costs.length / 2)];
}
