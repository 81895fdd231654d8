import { type Paint, painter, printable } from "#text";
import { cutLine, wrapLine } from "../print/fit-line.js";
import type { TrafficCounts } from "./messages.js";

/** The state of the agent of `sluice dev`. */
type Phase = "starting" | "running" | "waiting" | "hanging" | "restarting" | "stopping";

/** Everything that the region at the lower end of the terminal shows. */
export interface DevState {
  readonly phase: Phase;
  /** The name of the config. */
  readonly config: string;
  readonly problems: readonly string[];
  readonly counts: TrafficCounts | undefined;
  readonly isPaused: boolean;
  /** The condition that shown records match; empty: all. */
  readonly where: string;
  readonly filterProblem: string | undefined;
  /** The condition while it is typed. */
  readonly typed: string | undefined;
}

interface ViewSize {
  readonly columns: number;
  readonly rows: number;
  readonly colour: boolean;
}

/** Rows that stay for records, however many problems there are. */
const RECORD_ROWS = 6;

/** The lines of the region: problems, what the agent does, and the keys. */
export function devView(state: DevState, { columns, rows, colour }: ViewSize): string[] {
  const paint = painter(colour);
  const room = Math.max(1, rows - RECORD_ROWS - 3);
  return [
    paint("dim", "─".repeat(columns)),
    ...cutLines(
      state.problems.flatMap((line) => wrapLine(line, columns, "  ")),
      room,
      paint,
    ),
    statusLine(state, paint),
    keyLine(state, paint),
  ].map((line) => cutLine(line, columns));
}

function cutLines(lines: readonly string[], room: number, paint: Paint): string[] {
  if (lines.length <= room) return [...lines];
  const left = lines.length - room + 1;
  return [...lines.slice(0, room - 1), paint("dim", `  … ${left} more lines: see sluice validate`)];
}

function statusLine(state: DevState, paint: Paint): string {
  const { config, counts } = state;
  const numbers =
    counts === undefined
      ? []
      : [`in ${counts.received}`, `out ${counts.exported}`, ...counts.lost.map((each) => lostText(each, paint))];
  return [phaseText(state, paint), paint("bold", printable(config)), ...numbers].join("  ");
}

function lostText({ id, dropped, refused }: TrafficCounts["lost"][number], paint: Paint): string {
  const texts = [dropped > 0 ? `dropped ${dropped}` : "", refused > 0 ? paint("red", `failed ${refused}`) : ""];
  return `${printable(id)} ${texts.filter(Boolean).join(" ")}`;
}

function phaseText({ phase, problems }: DevState, paint: Paint): string {
  switch (phase) {
    case "starting":
      return paint("yellow", "starting");
    case "restarting":
      return paint("yellow", "restarting");
    case "running":
      return problems.length === 0
        ? paint("green", "running")
        : paint("yellow", "running the last version that worked");
    case "waiting":
      return paint("red", "not running, waiting for a change");
    case "hanging":
      return paint("red", "not answering (an endless loop?), restarts at the next change");
    case "stopping":
      return paint("yellow", "stopping; Ctrl-C again ends at once");
  }
}

function keyLine({ typed, where, filterProblem, isPaused }: DevState, paint: Paint): string {
  if (typed !== undefined) {
    const problem = filterProblem === undefined ? "" : `  ${paint("red", printable(filterProblem))}`;
    return `show where: ${printable(typed)}${paint("bold", "_")}${problem}  ${paint("dim", "Enter applies, Esc cancels")}`;
  }
  const key = (name: string, text: string) => `${paint("bold", name)} ${text}`;
  const filter = where === "" ? "filter" : `filter: ${printable(where)}`;
  const keys = [
    key("p", isPaused ? "show records again" : "pause"),
    key("r", "restart"),
    key("q", "quit"),
    key("f", filter),
  ];
  return keys.join("  ");
}
