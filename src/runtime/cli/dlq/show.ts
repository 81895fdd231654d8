import { AdminError } from "../../contract/admin.js";
import type { AttemptError, Cycle, Entry, Failure } from "../../contract/entry.js";
import { printable } from "../../text/terminal.js";
import type { CommandContext } from "../command.js";
import { EXIT, UsageError } from "../terminal.js";
import { namesOf, onDeadLetters, printJson } from "./run.js";
import { ageText, bytesText, counted, durationText, errorText, timeText } from "./text.js";

/** `sluice dlq show` */
export async function show(context: CommandContext): Promise<number> {
  const { values, terminal } = context;
  const [id, ...more] = namesOf(context);
  if (id === undefined || more.length > 0) throw new UsageError("show needs one id", "dlq list prints them");
  return onDeadLetters(context, async ({ admin }) => {
    const entry = await admin.deadLetter(id);
    if (entry === undefined) throw new AdminError("not_found", `there is no entry ${JSON.stringify(id)}`);
    const text = values["payload"] === true ? await admin.payload(id) : undefined;
    const payload: unknown = text === undefined ? undefined : JSON.parse(text);
    if (values["json"] === true) printJson(context, payload === undefined ? { entry } : { entry, payload });
    else {
      terminal.out.write(`${describe(entry, Date.now()).join("\n")}\n`);
      if (payload !== undefined) terminal.out.write(`\nPayload\n${printableJson(payload)}\n`);
    }
    return EXIT.ok;
  });
}

function describe(entry: Entry, now: number): string[] {
  const { failure, lastError } = entry;
  return [
    ...fields([
      ["Id", entry.id],
      ["State", stateText(entry, now)],
      [
        "Exporter",
        `${entry.exporter}, from pipeline ${entry.pipeline}, received by ${entry.source.receiver} (${entry.source.transport})`,
      ],
      ["Content", `${counted(entry.items, "item")} of ${entry.signal}, ${bytesText(entry.bytes)}`],
      ["Enqueued", when(entry.enqueuedAt, now)],
      ["Split from", entry.parent],
      ...(failure === undefined ? [] : failureFields(failure)),
      ["Error", failure === undefined && lastError ? errorText(lastError) : undefined],
      ["Attempts", `${entry.calls}${entry.calls === entry.attempts ? "" : `, of which ${entry.attempts} count`}`],
      ["First failed", entry.firstFailedAt === undefined ? undefined : when(entry.firstFailedAt, now)],
      ["Config", entry.generation],
    ]),
    ...(entry.history.length === 0 ? [] : ["", "Attempts", ...entry.history.map(attemptLine)]),
    ...(entry.cycles.length === 0 ? [] : ["", "Earlier cycles", ...entry.cycles.map(cycleLine)]),
  ];
}

function failureFields(failure: Failure): [string, string | undefined][] {
  const { reason, category, error, signature, names, traceIds, schemaUrls } = failure;
  return [
    ["Reason", `${reason} (${category})`],
    ["Error", `${errorText(error)}${detailText(error)}`],
    ["Signature", signature],
    ["Names", names.join(", ") || undefined],
    ["Trace ids", traceIds.join(", ") || undefined],
    ["Schemas", schemaUrls.join(", ") || undefined],
  ];
}

function stateText({ state, failure, replays }: Entry, now: number): string {
  const replayed = replays === 0 ? "" : `, replayed ${counted(replays, "time")}`;
  const text = state === "failed" ? `dead letter since ${when(failure!.at, now)}` : "waiting to be sent";
  return `${text}${replayed}`;
}

function detailText({ class: kind, status, code }: AttemptError): string {
  const parts = [status, code].filter((part) => part !== undefined && part !== "" && part !== kind);
  return parts.length === 0 ? "" : ` [${parts.join(", ")}]`;
}

function attemptLine({ at, error, delayMs }: Entry["history"][number]): string {
  const wait = delayMs === undefined ? "" : `, next after ${durationText(delayMs)}`;
  return `  ${timeText(at)}  ${printable(error)}${wait}`;
}

function cycleLine({ failure, calls, replayedAt, replayedBy }: Cycle): string {
  const end = `replayed ${timeText(replayedAt)} by ${printable(replayedBy)}`;
  return `  ${timeText(failure.at)}  ${failure.reason} after ${counted(calls, "attempt")}: ${errorText(failure.error)}; ${end}`;
}

function when(time: number, now: number): string {
  return `${timeText(time)} (${ageText(time, now)})`;
}

function fields(all: readonly (readonly [string, string | undefined])[]): string[] {
  return all.flatMap(([name, value]) => (value === undefined ? [] : [`${name.padEnd(13)} ${printable(value)}`]));
}

/** JSON keeps control characters escaped by itself; what else a terminal might obey is escaped here. */
function printableJson(value: unknown): string {
  return JSON.stringify(value, undefined, 2).split("\n").map(printable).join("\n");
}
