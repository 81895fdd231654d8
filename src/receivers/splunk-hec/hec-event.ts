import { HecError } from "./hec-answers.js";

type HecFields = Readonly<Record<string, unknown>>;

/** An event as clients send it. */
export interface ReceivedEvent {
  event: unknown;
  fields: HecFields;
  host: string;
  source: string;
  sourcetype: string;
  index: string;
  /** Nanoseconds since the epoch; 0 if unknown. */
  time: number;
}

type HecMember = keyof ReceivedEvent;
const NO_FIELDS: HecFields = {};
const MEMBERS = new Set<string>(["event", "fields", "host", "source", "sourcetype", "index", "time"]);

/** Throws a `HecError` if a member has the wrong type. Names of members may be in any case. */
export function readEvent(json: unknown): ReceivedEvent {
  if (typeof json !== "object" || Array.isArray(json)) throw HecError.invalidFormat();
  const event: ReceivedEvent = {
    event: undefined,
    fields: NO_FIELDS,
    host: "",
    source: "",
    sourcetype: "",
    index: "",
    time: 0,
  };
  const members = (json ?? {}) as Readonly<Record<string, unknown>>;
  for (const key in members) {
    const value = members[key];
    const name = MEMBERS.has(key) ? key : key.toLowerCase();
    if (value === null || !MEMBERS.has(name)) continue;
    if (name === "event") event.event = value;
    else if (name === "time") event.time = nanoseconds(secondsOf(value));
    else if (name === "fields") event.fields = fieldsOf(value);
    else if (typeof value === "string") event[name as Exclude<HecMember, "event" | "time" | "fields">] = value;
    else throw HecError.invalidFormat();
  }
  return event;
}

function fieldsOf(value: unknown): HecFields {
  if (typeof value !== "object" || Array.isArray(value)) throw HecError.invalidFormat();
  return value as HecFields;
}

/** A value that is neither a number nor a text counts as no time. */
function secondsOf(value: unknown): number {
  if (typeof value === "number") return value;
  if (typeof value !== "string") return 0;
  const number = numberOf(value);
  if (number === undefined) throw HecError.invalidFormat();
  return number;
}

/** A text as Splunk's clients write numbers; undefined if it is none. */
export function numberOf(text: string): number | undefined {
  return /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/i.test(text) ? Number(text) : undefined;
}

/** Clients send seconds, milliseconds, microseconds or nanoseconds, which can be told by their size. */
function nanoseconds(time: number): number {
  const ns = time * factorOf(time);
  return ns > 0 && ns < 2 ** 64 ? Math.trunc(ns) : 0;
}

function factorOf(time: number): number {
  if (time >= 1e16) return 1;
  if (time >= 1e13) return 1e3;
  return time >= 1e10 ? 1e6 : 1e9;
}

/** Fields hold texts, numbers, booleans, and lists of these. */
export function isFlat({ fields }: ReceivedEvent): boolean {
  for (const key in fields) {
    const value = fields[key];
    if (Array.isArray(value) ? value.some(isObject) : isObject(value)) return false;
  }
  return true;
}

function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null;
}

const METRIC_NAME = /^metric_name:([A-Za-z.:][A-Za-z0-9_.:\\-]*)$/;

/** The names and values of an event's metrics, in either of the two forms that Splunk has; empty if it has none. */
export function metricsOf({ fields }: ReceivedEvent): readonly (readonly [name: string, value: unknown])[] {
  const single = Object.hasOwn(fields, "metric_name") ? fields["metric_name"] : undefined;
  if (single !== undefined) {
    if (typeof single !== "string") throw HecError.invalidFormat();
    return [[single, fields["_value"]]];
  }
  const metrics: (readonly [string, unknown])[] = [];
  for (const key in fields) {
    if (!key.startsWith("metric_name:")) continue;
    const name = METRIC_NAME.exec(key)?.[1];
    if (name !== undefined && !name.includes("metric_name")) metrics.push([name, fields[key]]);
  }
  return metrics;
}
