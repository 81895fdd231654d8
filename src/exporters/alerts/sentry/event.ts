import { type AlertFacts, textOf } from "../record-facts.js";
import { MIN_SEVERITIES, type SentryConfig } from "./config.js";

/** A Sentry event without its id. */
export type SentryEvent = Readonly<Record<string, unknown>>;

/** An event, and the indexes of its records in the batch. */
interface RecordEvent {
  readonly records: readonly number[];
  readonly event: SentryEvent;
}

type EventSettings = Pick<SentryConfig, "environment" | "release" | "min_severity" | "tags" | "tag_attributes">;

/**
 * Returns the events of a batch: one for each log record that is severe enough or has an exception, one for each failed
 * span, and one for each forwarded dead letter, however many records it has. The event of a dead letter tells why it
 * failed, and nothing of its content.
 */
export function eventsOf(facts: readonly AlertFacts[], settings: EventSettings): RecordEvent[] {
  const events: RecordEvent[] = [];
  const deadLetters = new Map<string, number[]>();
  for (const [i, record] of facts.entries()) {
    if (record.dead_letter !== null) {
      const id = textOf(record.dead_letter["id"]);
      const known = deadLetters.get(id);
      if (known === undefined) deadLetters.set(id, [i]);
      else known.push(i);
    } else if (isEvent(record, settings)) events.push({ records: [i], event: eventOf(record, settings) });
  }
  for (const records of deadLetters.values())
    events.push({ records, event: eventOfDeadLetter(facts[records[0]!]!, records.length, settings) });
  return events;
}

function isEvent({ signal, severity_number, status, exceptions, attributes }: AlertFacts, settings: EventSettings) {
  if (signal === "traces") return status === "error" || exceptions.length > 0;
  return severity_number >= MIN_SEVERITIES[settings.min_severity] || hasException(attributes);
}

function eventOf(record: AlertFacts, settings: EventSettings): SentryEvent {
  const { signal, name, body, attributes, status_message, exceptions, kind, scope } = record;
  const found = signal === "traces" ? exceptions : [attributes].filter(hasException);
  const message = signal === "traces" ? `${name}${status_message && `: ${status_message}`}` : textOf(body) || name;
  return {
    ...commonOf(record, settings),
    level: signal === "traces" ? "error" : levelOf(record.severity_number),
    logger: scope || "sluice",
    ...(signal === "traces" && { transaction: name }),
    ...(message !== "" && { message: { formatted: message.slice(0, MAX_MESSAGE) } }),
    ...(found.length > 0 && { exception: { values: found.map(exceptionOf) } }),
    extra: { ...attributes, ...(kind !== "" && { "span.kind": kind }), ...stackTraces(found) },
  };
}

function eventOfDeadLetter(record: AlertFacts, records: number, settings: EventSettings): SentryEvent {
  const letter = record.dead_letter!;
  const [exporter, reason, error] = [textOf(letter["exporter"]), textOf(letter["reason"]), textOf(letter["error"])];
  const text = textOf(letter["message"]);
  const formatted = `${records} records of ${exporter} could not be delivered (${reason}): ${text || error}`;
  const common = commonOf(record, settings);
  return {
    ...common,
    timestamp: letter["failed_at"] ?? common["timestamp"],
    level: "error",
    logger: "sluice",
    message: { formatted: formatted.slice(0, MAX_MESSAGE) },
    fingerprint: ["sluice", textOf(letter["signature"])],
    tags: {
      ...(common["tags"] as object),
      ...tagsOf({ exporter, reason, category: letter["category"], error_class: error }),
    },
    extra: letter,
  };
}

/** Returns the fields that tell where a record comes from. */
function commonOf({ resource, attributes, trace_id, span_id, time }: AlertFacts, settings: EventSettings): SentryEvent {
  const { environment, release, tags, tag_attributes } = settings;
  const wanted = tag_attributes.map((key) => [key, attributes[key] ?? resource[key]] as const);
  const env = environment ?? resource["deployment.environment.name"] ?? resource["deployment.environment"];
  const version = release ?? resource["service.version"];
  const host = resource["host.name"];
  return {
    platform: platformOf(textOf(resource["telemetry.sdk.language"])),
    ...(time !== null && { timestamp: time }),
    ...(env !== undefined && { environment: textOf(env).slice(0, MAX_ENVIRONMENT) }),
    ...(version !== undefined && { release: textOf(version).slice(0, MAX_TAG_LENGTH) }),
    ...(host !== undefined && { server_name: textOf(host) }),
    tags: { ...tagsOf(Object.fromEntries(wanted)), ...tags },
    ...(trace_id !== "" && { contexts: { trace: { type: "trace", trace_id, span_id: span_id || NO_SPAN } } }),
  };
}

/** Sentry's limits: it cuts or refuses longer values. */
const MAX_MESSAGE = 8000;
const MAX_TAG_LENGTH = 200;
const MAX_ENVIRONMENT = 64;
const NO_SPAN = "0000000000000000";

function tagsOf(values: Readonly<Record<string, unknown>>): Record<string, string> {
  const known = Object.entries(values).filter(([, value]) => value !== undefined && value !== null && value !== "");
  return Object.fromEntries(
    known.map(([key, value]) => [
      key.replace(/[^A-Za-z0-9_.:-]/g, "_").slice(0, 32),
      textOf(value).replace(/\s+/g, " ").slice(0, MAX_TAG_LENGTH),
    ]),
  );
}

function hasException(attributes: Readonly<Record<string, unknown>>): boolean {
  return "exception.type" in attributes || "exception.message" in attributes;
}

function exceptionOf(attributes: Readonly<Record<string, unknown>>): object {
  return {
    type: textOf(attributes["exception.type"]) || "Error",
    value: textOf(attributes["exception.message"]).slice(0, MAX_MESSAGE),
  };
}

/** Sentry expects stack frames, which cannot be derived from a text, so the text is shown as it is. */
function stackTraces(exceptions: readonly Readonly<Record<string, unknown>>[]): object {
  const traces = exceptions.map((each) => textOf(each["exception.stacktrace"])).filter((text) => text !== "");
  return traces.length === 0 ? {} : { "exception.stacktrace": traces.join("\n\n") };
}

function levelOf(severity: number): string {
  if (severity >= MIN_SEVERITIES.fatal) return "fatal";
  if (severity >= MIN_SEVERITIES.error || severity === 0) return "error";
  if (severity >= MIN_SEVERITIES.warn) return "warning";
  return severity >= MIN_SEVERITIES.info ? "info" : "debug";
}

/** Returns Sentry's name for a language, "other" if it has none. */
function platformOf(language: string): string {
  const names: Readonly<Record<string, string>> = {
    nodejs: "node",
    webjs: "javascript",
    dotnet: "csharp",
    cpp: "native",
  };
  const known = ["go", "java", "php", "python", "ruby", "elixir"];
  return names[language] ?? (known.includes(language) ? language : "other");
}
