import type { ErrorComparison, FieldComparison, RecordExample, RehearsalReport } from "#contract/rehearsal";
import { type Paint, painter, printable } from "#text";
import { type Column, table } from "../print/table.js";
import { pluralize, roughByteSize, roughDuration } from "../print/text.js";
import type { Output } from "../terminal.js";

const NUMBER = { align: "right" } as const;
const EXPORTERS: readonly Column[] = [
  { title: "EXPORTER", shrinks: true },
  { title: "SIGNAL" },
  { title: "RECORDS", ...NUMBER },
  { title: "NOW", ...NUMBER },
  { title: "DROPPED", ...NUMBER },
  { title: "NEW", ...NUMBER },
  { title: "CHANGED", ...NUMBER },
  { title: "BYTES", ...NUMBER },
  { title: "NOW", ...NUMBER },
];
const ALONE: readonly Column[] = [
  { title: "EXPORTER", shrinks: true },
  { title: "SIGNAL" },
  { title: "RECORDS", ...NUMBER },
  { title: "BYTES", ...NUMBER },
];
/** The lists are for people; `--json` has everything. */
const MAX_SHOWN = 20;
const MAX_FIELDS_OF_RECORD = 8;

/** The report for people, line by line. */
export function reportText(report: RehearsalReport, out: Output): string[] {
  const paint = painter(out.colour);
  return [
    sampleText(report),
    "",
    ...table(report.isComparison ? EXPORTERS : ALONE, exporterRows(report), out),
    ...section("Moved to another exporter", report.moved.map(movedText), paint),
    ...section(
      fieldsTitle(report),
      report.fields.flatMap((field) => fieldText(field, paint)),
      paint,
    ),
    ...section(
      "Examples",
      report.examples.map((example) => exampleText(example, paint)),
      paint,
    ),
    ...section(
      "Errors",
      report.errors.map((error) => errorText(error, report, paint)),
      paint,
    ),
    "",
    conclusion(report, paint),
  ];
}

function sampleText({ sample }: RehearsalReport): string {
  const { batches, records, bytes, seconds, skipped } = sample;
  const amount = `${pluralize(records, "record")} in ${pluralize(batches, "batch", "batches")}, ${roughByteSize(bytes)}`;
  const left = skipped === 0 ? "" : `; ${pluralize(skipped, "record")} left out because of limits`;
  return `Sample: ${amount}, from ${roughDuration(seconds * 1000)}${left}`;
}

function exporterRows({ exporters, isComparison }: RehearsalReport): string[][] {
  return exporters.map(({ exporter, signal, before, after, dropped, new: added, changed }) =>
    isComparison
      ? [
          exporter,
          signal,
          ...[before.records, after.records, dropped, added, changed].map(String),
          roughByteSize(before.bytes),
          roughByteSize(after.bytes),
        ]
      : [exporter, signal, String(after.records), roughByteSize(after.bytes)],
  );
}

function section(title: string, lines: readonly string[], paint: Paint): string[] {
  if (lines.length === 0) return [];
  const more = lines.length - MAX_SHOWN;
  const rest = more > 0 ? [`  … and ${more} more: see --json`] : [];
  return ["", paint("bold", title), ...lines.slice(0, MAX_SHOWN).map((line) => `  ${line}`), ...rest];
}

function movedText({ from, to, records }: RehearsalReport["moved"][number]): string {
  return `${pluralize(records, "record")} from ${printable(from)} to ${printable(to)}`;
}

function fieldsTitle({ changedExamined, total }: RehearsalReport): string {
  const all =
    changedExamined === total.changed ? "" : ` (${changedExamined} of ${total.changed} changed records examined)`;
  return `Fields${all}`;
}

const SIGNS = { added: "+", removed: "-", changed: "~" } as const;
const COLOURS = { added: "green", removed: "red", changed: "yellow" } as const;

function fieldText({ exporter, field, change, records, examples }: FieldComparison, paint: Paint): string[] {
  const head = `${SIGNS[change]} ${printable(field)}`;
  const shown = examples.map(({ before, after }) =>
    [before, after].flatMap((value) => (value === undefined ? [] : [printable(value)])).join(" → "),
  );
  const values = shown.length === 0 ? "" : `: ${shown.join("; ")}`;
  return [`${paint(COLOURS[change], head)}  ${pluralize(records, "record")} at ${printable(exporter)}${values}`];
}

function exampleText({ exporter, what, fields }: RecordExample, paint: Paint): string {
  const shown = Object.entries(fields).slice(0, MAX_FIELDS_OF_RECORD);
  const text = shown.map(([field, value]) => printable(`${field}=${value}`)).join(" ");
  return `${paint(what === "dropped" ? "red" : "green", what)} at ${printable(exporter)}: ${text}`;
}

function errorText({ kind, where, message, before, after }: ErrorComparison, report: RehearsalReport, paint: Paint) {
  const count = report.isComparison ? `${before} → ${after}` : String(after);
  const text = `${kind.replace("_", " ")}${where === "" ? "" : ` (${printable(where)})`}: ${printable(message)}`;
  return `${paint(after > before ? "red" : "dim", count)}  ${text}`;
}

function conclusion({ isComparison, total, newErrors, cpu }: RehearsalReport, paint: Paint): string {
  const cpuText = [cpu.before, cpu.after].filter((each) => each !== undefined).map((each) => each.toFixed(2));
  const time = cpuText.length === 0 ? "" : ` CPU per record: ${cpuText.join(" → ")} µs.`;
  const errors = newErrors === 0 ? "" : ` ${pluralize(newErrors, "new error")}.`;
  if (!isComparison) return `Nothing to compare with: name the old config with --against.${errors}${time}`;
  const { dropped, new: added, changed, moved } = total;
  const parts = [
    [dropped, "dropped"],
    [added, "new"],
    [changed, "changed"],
    [moved, "moved"],
  ].flatMap(([number, what]) => (number === 0 ? [] : [`${number} ${what}`]));
  const difference = parts.length === 0 ? paint("green", "No difference.") : `${parts.join(", ")}.`;
  return `${difference}${errors}${time}`;
}

/** Shows on a terminal how much is done. */
export class RehearsalProgress {
  private readonly err: Output;
  private shown = "";

  constructor(err: Output) {
    this.err = err;
  }

  show(text: string): void {
    if (!this.err.isTerminal || text === this.shown) return;
    this.err.write(`\r${text.padEnd(this.shown.length)}`);
    this.shown = text;
  }

  clear(): void {
    if (this.shown !== "") this.err.write(`\r${" ".repeat(this.shown.length)}\r`);
    this.shown = "";
  }
}
