import type { AuditRecord, Time } from "../../api/shapes.js";
import { clockText, countOf } from "../../parts/format.js";

type Words = Readonly<Record<string, unknown>>;

/** A record of the audit as a sentence without its subject: "replayed 5 dead letters of otlp_http". */
export function auditSentence(record: AuditRecord): string {
  const filter = typeof record.filter === "object" && record.filter !== null ? (record.filter as Words) : {};
  const makeSentence = SENTENCES[record.action];
  if (makeSentence !== undefined) return makeSentence(record, filter);
  return [record.action.replaceAll("_", " "), record.target].filter((part) => part !== undefined).join(" ");
}

type MakeSentence = (record: AuditRecord, filter: Words) => string;

const SENTENCES: Readonly<Record<string, MakeSentence>> = {
  reveal: ({ target }, filter) => `looked at the unmasked data of ${target ?? `dead letters${filterText(filter)}`}`,
  search: (_, filter) => `searched in the content of dead letters${filterText(filter)}`,
  export: (record, filter) => `exported ${deadLetters(record, filter)}`,
  import: (record) => `imported ${deadLetters(record, {})}`,
  edit: ({ target }) => `edited the dead letter ${target ?? ""}`.trim(),
  replay: (record, { to, transform, change, ...filter }) => {
    if (typeof change === "string") return `${CHANGES[change] ?? change} the replay ${record.target}`;
    const changed = transform === undefined ? "" : ", changed with OTTL first";
    return `replayed ${deadLetters(record, filter)}${to === undefined ? "" : ` to ${to}`}${changed}`;
  },
  delete: (record, filter) => `deleted ${deadLetters(record, filter)}`,
  restore: (record, filter) => `restored ${deadLetters(record, filter)}`,
  pause: ({ target }) => `paused ${target}`,
  resume: ({ target }) => `resumed ${target}`,
  retry: ({ target }) => `made ${target} retry at once`,
  breaker: ({ target }, { state }) =>
    state === "auto" ? `made the breaker of ${target} automatic again` : `held the breaker of ${target} ${state}`,
  replay_rate: ({ target }, { rate }) => `limited replays of ${target} to ${rate} entries per second`,
  reload: () => "reloaded the config",
  rehearse: () => "rehearsed the config",
  adopt: ({ target }, { to }) => `moved the queue of ${target} to ${to}`,
  rehydrate: ({ target, count }, { from, change }) =>
    change === "cancel"
      ? "cancelled a rehydration"
      : `rehydrated ${count === undefined ? "records" : countOf(count, "record")} from ${from} to ${target}`,
  delete_queue: ({ target }) => `deleted the queue of ${target}`,
};

function deadLetters({ count, target }: AuditRecord, filter: Words): string {
  if (target !== undefined && count === undefined) return `the dead letter ${target}`;
  const number = count === undefined ? "dead letters" : countOf(count, "dead letter");
  return `${number}${filterText(filter)}`;
}

const CHANGES: Readonly<Record<string, string>> = { pause: "paused", resume: "resumed", cancel: "cancelled" };

const NAMES: Readonly<Record<string, string>> = { exporter: "of", reason: "that failed as", signature: "of the cause" };
const TIMES = ["since", "until"];

/** Filters in words. Ids say nothing to readers: the number of entries is there already. */
function filterText(filter: Words): string {
  const parts = Object.entries(filter).filter(([name, value]) => name !== "ids" && isPlain(value));
  return parts
    .map(([name, value]) => ` ${wordOf(name)} ${TIMES.includes(name) ? clockText(value as Time) : value}`)
    .join("");
}

function wordOf(name: string): string {
  return NAMES[name] ?? (TIMES.includes(name) ? name : `with ${name}`);
}

function isPlain(value: unknown): boolean {
  return (typeof value === "string" && value !== "") || typeof value === "number" || value === true;
}
