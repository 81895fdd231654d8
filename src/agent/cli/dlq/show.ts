import type { Attempt, AttemptError, Cycle, Entry, EntryEdit, Failure } from "#contract/operations";
import { AdminError, FAILURE_RULES, type FailureRule } from "#contract/operations";
import { printable, printableJson } from "#text";
import { operatorOf, revealOptions } from "../agent/operator.js";
import { positionalArguments, printJson } from "../agent/report.js";
import type { CommandContext } from "../command.js";
import { ageText, errorText, pluralize, roughByteSize, roughDuration, timeText } from "../print/text.js";
import { EXIT, UsageError } from "../terminal.js";
import { withDeadLetters } from "./connect.js";
import { revisionOption } from "./filters.js";

/** `sluice dlq show` */
export async function show(context: CommandContext): Promise<number> {
  const { values, terminal } = context;
  const [id, ...more] = positionalArguments(context);
  if (id === undefined || more.length > 0) throw new UsageError("show needs one id", "dlq list prints them");
  const revision = revisionOption(values);
  const reveal = { ...revealOptions(context, false), ...(revision !== undefined && { revision }) };
  return withDeadLetters(context, async ({ admin }) => {
    const entry = await admin.deadLetter(id);
    if (entry === undefined) throw new AdminError("not_found", `there is no entry ${JSON.stringify(id)}`);
    const isShown = values["payload"] === true || reveal.reveal === true || revision !== undefined;
    const text = isShown ? await admin.actingAs(operatorOf(context, false)).payload(id, reveal) : undefined;
    if (revision !== undefined && text === undefined)
      throw new AdminError("not_found", `revision ${revision} of ${id} is not kept`);
    const masked = reveal.reveal !== true;
    const payload: unknown = text === undefined ? undefined : JSON.parse(text);
    if (values["json"] === true) printJson(context, payload === undefined ? { entry } : { entry, masked, payload });
    else {
      terminal.out.write(`${describeEntry(entry, Date.now()).join("\n")}\n`);
      if (payload !== undefined)
        terminal.out.write(`\n${masked ? MASKED_TITLE : "Payload"}\n${printableJson(payload, cutText, 2)}\n`);
    }
    return EXIT.ok;
  });
}

const MASKED_TITLE = "Payload, masked (--reveal --why TEXT shows it unmasked)";

function describeEntry(entry: Entry, now: number): string[] {
  const { failure, lastError } = entry;
  return [
    ...fieldLines([
      ["Id", entry.id],
      ["State", stateText(entry, now)],
      [
        "Exporter",
        `${entry.exporter}, from pipeline ${entry.pipeline}, received by ${entry.source.receiver} (${entry.source.transport})`,
      ],
      ["Client", clientText(entry)],
      ["Content", `${pluralize(entry.items, "item")} of ${entry.signal}, ${roughByteSize(entry.bytes)}`],
      ["Enqueued", timeAndAge(entry.enqueuedAt, now)],
      ["Split from", entry.parent],
      ["Moved from", entry.movedFrom],
      ["Forwarded", entry.forwarded && forwardedText(entry.forwarded, now)],
      ["Copy of", entry.forwardOf && `${entry.forwardOf.id}, a dead letter of ${entry.forwardOf.exporter}`],
      ...(failure === undefined ? [] : failureFields(failure, entry.items)),
      ["Error", failure === undefined && lastError ? errorText(lastError) : undefined],
      [
        "Attempts",
        `${entry.calls}${entry.calls === entry.attempts ? "" : `; ${entry.attempts} count against this entry`}`,
      ],
      ["First failed", entry.firstFailedAt === undefined ? undefined : timeAndAge(entry.firstFailedAt, now)],
      ["Config", entry.generation],
    ]),
    ...(failure?.error.stack === undefined ? [] : ["", "Stack", ...stackLines(failure.error.stack)]),
    ...(entry.history.length === 0 ? [] : ["", "Attempts", ...entry.history.map(attemptLine)]),
    ...(entry.cycles.length === 0 ? [] : ["", "Earlier cycles", ...entry.cycles.map(cycleLine)]),
    ...(entry.edits === undefined
      ? []
      : ["", "Edits (--revision N shows the records before them)", ...entry.edits.map(editLine)]),
  ];
}

function failureFields(failure: Failure, items: number): [string, string | undefined][] {
  const { reason, rule, category, error, requestItems, rejected, signature, names, traceIds, schemaUrls } = failure;
  return [
    ["Reason", `${reason} (${category})`],
    ["Rule", rule && ruleText(rule)],
    ["Error", `${errorText(error)}${detailText(error)}`],
    ["Failed in", requestItems === undefined ? undefined : requestSizeText(requestItems)],
    ["Rejected", rejected === undefined ? undefined : rejectedText(rejected, requestItems ?? items)],
    ["Signature", signature],
    ["Names", names.join(", ") || undefined],
    ["Trace ids", traceIds.join(", ") || undefined],
    ["Schemas", schemaUrls.join(", ") || undefined],
    ["Versions", failure.eventVersions?.join(", ") || undefined],
  ];
}

/** A newer version of Sluice may have stored a rule that this version does not know. */
function ruleText(rule: FailureRule): string {
  const text: string | undefined = FAILURE_RULES[rule]?.rule;
  return text === undefined ? printable(rule) : `${rule}: ${text.replaceAll("`", "")}`;
}

function stackLines(stack: string): string[] {
  return stack.split("\n").map((line) => `  ${printable(line)}`);
}

function rejectedText(rejected: number, records: number): string {
  const taken = records - rejected;
  const others = taken === 0 ? "none was accepted" : `${taken} were accepted, and a replay would send them again`;
  return `${rejected} of ${records} records; ${others}`;
}

function requestSizeText(records: number): string {
  return `a request of ${records} records: the error may concern another record of it`;
}

function stateText({ state, failure, replays, deliveredAt }: Entry, now: number): string {
  const replayed = replays === 0 ? "" : `, replayed ${pluralize(replays, "time")}`;
  if (state === "delivered") return `delivered ${timeAndAge(deliveredAt!, now)}${replayed}`;
  const waiting = state === "in_flight" ? "being sent" : "waiting to be sent";
  const text = state === "failed" ? `dead letter since ${timeAndAge(failure!.at, now)}` : waiting;
  return `${text}${replayed}`;
}

function clientText({ source: { metadata = {} } }: Entry): string | undefined {
  const headers = Object.entries(metadata).map(([name, value]) => `${name}: ${value}`);
  return headers.join("; ") || undefined;
}

function detailText({ class: kind, status, code }: AttemptError): string {
  const details = [status, code].filter((part) => part !== undefined && part !== "" && part !== kind);
  return details.length === 0 ? "" : ` [${details.join(", ")}]`;
}

function attemptLine({ at, error, message = "", blame, requestItems, delayMs }: Attempt): string {
  const whose = blame === undefined ? "" : `, a failure of the ${blame}`;
  const wait = delayMs === undefined ? "" : `, next attempt after ${roughDuration(delayMs)}`;
  const company = requestItems === undefined ? "" : `, in a request of ${requestItems} records`;
  return `  ${timeText(at)}  ${errorText({ class: error, message })}${whose}${company}${wait}`;
}

function cycleLine({ failure, calls, firstFailedAt, generation, replayedAt, replayedBy }: Cycle): string {
  const since = firstFailedAt === undefined ? "" : ` since ${timeText(firstFailedAt)}`;
  const end = `replayed ${timeText(replayedAt)} by ${printable(replayedBy)}`;
  return `  ${timeText(failure.at)}  ${failure.reason} after ${pluralize(calls, "attempt")}${since} with config ${printable(generation)}: ${errorText(failure.error)}; ${end}`;
}

function editLine({ revision, at, by, reason, transform }: EntryEdit): string {
  const how = transform === undefined ? "edited" : `changed with ${transform.join("; ")}`;
  const why = reason === undefined ? "" : `: ${reason}`;
  return printable(`  ${timeText(at)}  ${revision}. ${how} by ${by}${why}`);
}

function timeAndAge(time: number, now: number): string {
  return `${timeText(time)} (${ageText(time, now)})`;
}

function fieldLines(all: readonly (readonly [string, string | undefined])[]): string[] {
  return all.flatMap(([name, value]) => (value === undefined ? [] : [`${name.padEnd(13)} ${printable(value)}`]));
}

/**
 * Longer strings of a payload are cut for display, in characters: a string of ten megabytes would hide everything else.
 */
const MAX_TEXT = 4000;

function cutText(_: string, value: unknown): unknown {
  if (typeof value !== "string" || value.length <= MAX_TEXT) return value;
  return `${value.slice(0, MAX_TEXT)}… and ${value.length - MAX_TEXT} more characters; --json prints all of it`;
}

/** Says where a copy of the dead letter was sent, and whether it was delivered. */
function forwardedText({ to, at, state, error }: NonNullable<Entry["forwarded"]>, now: number): string {
  const fate = { queued: "in its queue", delivered: "delivered", failed: `not delivered: ${error ?? "unknown"}` };
  return `to ${to}, ${timeAndAge(at, now)}: ${fate[state]}`;
}
