import { MESSAGES, type Message } from "#otlp/bytes";
import { TAG_LIMIT } from "#otlp/tags";

/** Messages that have attributes. */
export type AttributeOwner = "resource" | "scope" | "metric" | "record" | "event" | "link" | "exemplar";

/** Text fields that can hold anything, in addition to attributes and bodies. */
export type TextField =
  | "span.name"
  | "span.status_message"
  | "span_event.name"
  | "metric.name"
  | "scope.name"
  | "scope.version"
  | "event_name"
  | "severity_text"
  | "metric.description"
  | "metric.unit"
  | "trace_state"
  | "schema_url"
  | "entity";

/**
 * Places that are treated only if the config names them, in addition to attributes, bodies, and names and messages of
 * spans.
 */
export const EXTRA_PLACES = [
  "names",
  "descriptions",
  "trace_state",
  "schema_urls",
  "bytes",
  "keys",
  "unknown_fields",
] as const;
export type ExtraPlace = (typeof EXTRA_PLACES)[number];

/** The actions for the fields of one message. */
export interface RewritePlan {
  /** Index of this plan. */
  readonly number: number;
  /** Actions by tag. */
  readonly actions: Uint8Array;
  readonly children: readonly (RewritePlan | undefined)[];
  readonly texts: readonly (TextField | undefined)[];
  readonly owner: AttributeOwner | undefined;
  readonly attributesTag: number;
  /** Action for fields whose tags are beyond the table. */
  readonly unknownAction: number;
}

export const SKIP = 0;
export const DESCEND = 1;
export const ATTRIBUTE = 2;
export const BODY = 3;
export const TEXT = 4;
export const REMOVE = 5;

const ATTRIBUTE_OWNERS: Readonly<Record<string, AttributeOwner>> = {
  Resource: "resource",
  Scope: "scope",
  Metric: "metric",
  LogRecord: "record",
  Span: "record",
  NumberDataPoint: "record",
  HistogramDataPoint: "record",
  ExponentialHistogramDataPoint: "record",
  SummaryDataPoint: "record",
  Event: "event",
  Link: "link",
  Exemplar: "exemplar",
};

const TEXT_FIELDS: Readonly<Record<string, TextField>> = {
  "Span.name": "span.name",
  "Status.message": "span.status_message",
  "Event.name": "span_event.name",
};

const EXTRA_TEXT_FIELDS: Readonly<Record<string, Readonly<Record<string, TextField>>>> = {
  names: {
    "Metric.name": "metric.name",
    "Scope.name": "scope.name",
    "Scope.version": "scope.version",
    "LogRecord.eventName": "event_name",
    "LogRecord.severityText": "severity_text",
  },
  descriptions: { "Metric.description": "metric.description", "Metric.unit": "metric.unit" },
  trace_state: { "Span.traceState": "trace_state", "Link.traceState": "trace_state" },
  schema_urls: {
    ...Object.fromEntries(
      ["Logs", "Spans", "Metrics"].flatMap((records) =>
        ["Resource", "Scope"].map((owner) => [`${owner}${records}.schemaUrl`, "schema_url" as const]),
      ),
    ),
    "EntityRef.schemaUrl": "schema_url",
    "EntityRef.type": "entity",
    "EntityRef.idKeys": "entity",
    "EntityRef.descriptionKeys": "entity",
  },
};

export type RewritePlans = ReadonlyMap<Message, RewritePlan>;

const PLANS = new Map<string, RewritePlans>();

/** Returns the plans for these places, which are made once. */
export function plansFor(places: readonly ExtraPlace[]): RewritePlans {
  const name = places.join();
  let plans = PLANS.get(name);
  if (plans === undefined) {
    const texts = Object.assign({}, TEXT_FIELDS, ...places.map((place) => EXTRA_TEXT_FIELDS[place]));
    plans = compilePlans(texts, places.includes("unknown_fields") ? REMOVE : SKIP);
    PLANS.set(name, plans);
  }
  return plans;
}

function compilePlans(texts: Readonly<Record<string, TextField>>, unknownAction: number): RewritePlans {
  const plans = new Map<
    Message,
    RewritePlan & { children: (RewritePlan | undefined)[]; texts: (TextField | undefined)[] }
  >();
  for (const one of Object.values(MESSAGES)) {
    plans.set(one, {
      number: plans.size,
      actions: new Uint8Array(TAG_LIMIT).fill(unknownAction),
      children: new Array(TAG_LIMIT).fill(undefined),
      texts: new Array(TAG_LIMIT).fill(undefined),
      owner: ATTRIBUTE_OWNERS[one.name],
      attributesTag: one.attributesTag,
      unknownAction,
    });
  }
  for (const [one, plan] of plans) {
    for (const field of one.fields) {
      const { tag, message: child } = field;
      plan.actions[tag] = SKIP;
      const text = texts[`${one.name}.${field.name}`];
      if (text !== undefined) {
        plan.actions[tag] = TEXT;
        plan.texts[tag] = text;
      } else if (child?.name === "KeyValue") plan.actions[tag] = ATTRIBUTE;
      else if (child?.name === "AnyValue") plan.actions[tag] = BODY;
      else if (child !== undefined && (unknownAction === REMOVE || holdsFields(child, texts))) {
        plan.actions[tag] = DESCEND;
        plan.children[tag] = plans.get(child);
      }
    }
  }
  return plans;
}

function holdsFields(one: Message, texts: Readonly<Record<string, TextField>>): boolean {
  return one.fields.some(
    ({ name, message: child }) =>
      texts[`${one.name}.${name}`] !== undefined ||
      child?.name === "KeyValue" ||
      child?.name === "AnyValue" ||
      (child !== undefined && holdsFields(child, texts)),
  );
}
