import { setImmediate } from "node:timers/promises";
import { Batch } from "../../plugin.js";
import {
  after,
  attributesTagOf,
  MESSAGES,
  type Message,
  REQUEST,
  Rewriter,
  skip,
  TAG_LIMIT,
  varint,
} from "../../runtime/kit.js";
import { TooCostlyError, work } from "./detect/text/work.js";

/** What attributes belong to. */
export type AttributeOwner = "resource" | "scope" | "metric" | "record" | "event" | "link" | "exemplar";

/** Texts beside attributes and bodies that can hold anything. */
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
  | "trace_state";

/** What is looked at beside attributes, bodies, and names and messages of spans. */
export const EXTRA_PLACES = ["names", "descriptions", "trace_state", "bytes", "keys", "unknown_fields"] as const;
/** One of `EXTRA_PLACES`. */
export type ExtraPlace = (typeof EXTRA_PLACES)[number];

/** How the fields of a batch are gone over. */
export interface WalkSettings {
  /** What it may cost; without it, anything. */
  readonly unitsPerByte?: number;
  readonly extraPlaces?: readonly ExtraPlace[];
}

/**
 * Sees every field of a batch that holds users' data, in the order of the bytes, and changes it through the rewriter.
 * Positions are those of `rewriter.bytes`. `at` is a field's tag, `lengthAt` the length behind it, [start, end) the body.
 */
export interface FieldVisitor {
  open(owner: AttributeOwner): void;
  /** A KeyValue. Changes close the message [start, end) themselves. */
  attribute(rewriter: Rewriter, at: number, lengthAt: number, start: number, end: number): void;
  /** The AnyValue that is a log record's body. Changes close it themselves. */
  body(rewriter: Rewriter, at: number, lengthAt: number, start: number, end: number): void;
  text(rewriter: Rewriter, field: TextField, lengthAt: number, start: number, end: number): void;
  /** The owner's message ends at `end`: more attributes can be put there, each with this tag. */
  close(rewriter: Rewriter, owner: AttributeOwner, end: number, attributesTag: number): void;
}

/** Shows every field to the visitor; gives back the batch with its changes, the very same batch if there were none. */
export function rewriteFields(batch: Batch, visitor: FieldVisitor, settings?: WalkSettings): Batch {
  const walk = new FieldWalk(batch, visitor, settings);
  walk.run(Number.POSITIVE_INFINITY);
  return walk.finish();
}

/**
 * The same for a batch that may be large: when it takes long, others get their turn in between, and the batch comes later.
 * Until then the visitor sees no other batch.
 */
export function rewriteFieldsInTurns(
  batch: Batch,
  visitor: FieldVisitor,
  settings?: WalkSettings,
): Batch | Promise<Batch> {
  const walk = new FieldWalk(batch, visitor, settings);
  return walk.run(UNITS_PER_TURN) ? walk.finish() : finishInTurns(walk);
}

async function finishInTurns(walk: FieldWalk): Promise<Batch> {
  do await setImmediate();
  while (!walk.run(UNITS_PER_TURN));
  return walk.finish();
}

/** Some milliseconds. */
const UNITS_PER_TURN = 2_000_000;

interface RewritePlan {
  /** By tag. */
  readonly actions: Uint8Array;
  readonly children: readonly (RewritePlan | undefined)[];
  readonly texts: readonly (TextField | undefined)[];
  readonly owner: AttributeOwner | undefined;
  readonly attributesTag: number;
  /** What is done with fields whose tags are beyond the table. */
  readonly unknownAction: number;
}

const SKIP = 0;
const DESCEND = 1;
const ATTRIBUTE = 2;
const BODY = 3;
const TEXT = 4;
const REMOVE = 5;

/** A message on the way to the present field. */
interface FieldFrame {
  plan: RewritePlan;
  start: number;
  end: number;
  /** Where its body began in the output, and the bytes that its length has. */
  outStart: number;
  lengthRoom: number;
}

/**
 * One pass over the fields of a batch that can stop between two of them and go on later. It counts what it and the visitor
 * do as `work`: a batch that takes more than its size explains was made to, and is given up.
 */
class FieldWalk {
  private readonly batch: Batch;
  private readonly visitor: FieldVisitor;
  private readonly rewriter: Rewriter;
  private readonly frames: FieldFrame[] = [];
  private readonly maxWork: number;
  private depth = 0;
  private at = 0;
  private spent = 0;

  constructor(
    batch: Batch,
    visitor: FieldVisitor,
    { unitsPerByte = Number.POSITIVE_INFINITY, extraPlaces = [] }: WalkSettings = {},
  ) {
    this.batch = batch;
    this.visitor = visitor;
    this.rewriter = new Rewriter(batch.bytes, (batch.bytes.length >> 5) + 512); // most treatments make values shorter
    this.maxWork = UNITS_PER_BATCH + unitsPerByte * batch.bytes.length;
    const plan = plansFor(extraPlaces).get(REQUEST[batch.signal])!;
    this.frames[0] = { plan, start: 0, end: batch.bytes.length, outStart: 0, lengthRoom: 0 };
  }

  /** Goes on until so much work is done; true at the end of the batch. */
  run(units: number): boolean {
    const { rewriter, visitor } = this;
    const b = rewriter.bytes;
    work.spent = this.spent;
    const pauseAt = Math.min(work.spent + units, this.maxWork);
    let frame = this.frames[this.depth]!;
    let p = this.at;
    for (;;) {
      if (p >= frame.end) {
        const { plan, end } = frame;
        if (plan.owner !== undefined) visitor.close(rewriter, plan.owner, end, plan.attributesTag);
        if (this.depth === 0) return true;
        rewriter.closeMessage(frame.start, end, frame.outStart, frame.lengthRoom);
        frame = this.frames[--this.depth]!;
        p = end;
        continue;
      }
      const at = p;
      let tag = b[p++]!;
      if (tag > 127) {
        tag = varint(b, at);
        p = after;
      }
      const action = tag < TAG_LIMIT ? frame.plan.actions[tag]! : frame.plan.unknownAction;
      if (action === SKIP) {
        p = skip(b, p, tag);
        continue;
      }
      if (action === REMOVE) {
        p = skip(b, p, tag);
        rewriter.remove(at, p);
        continue;
      }
      const lengthAt = p;
      let size = b[p++]!;
      if (size > 127) {
        size = varint(b, lengthAt);
        p = after;
      }
      const stop = p + size;
      if (action === DESCEND) {
        frame = this.enter(frame.plan.children[tag]!, p, stop, p - lengthAt);
        continue;
      }
      if (action === ATTRIBUTE) visitor.attribute(rewriter, at, lengthAt, p, stop);
      else if (action === BODY) visitor.body(rewriter, at, lengthAt, p, stop);
      else visitor.text(rewriter, frame.plan.texts[tag]!, lengthAt, p, stop);
      p = stop;
      work.spent += UNITS_PER_FIELD + size;
      if (work.spent > pauseAt) {
        if (work.spent > this.maxWork) throw new TooCostlyError();
        this.at = p;
        this.spent = work.spent;
        return false;
      }
    }
  }

  /** The batch with the visitor's changes, or the very same one. */
  finish(): Batch {
    const { batch, rewriter } = this;
    return rewriter.changed ? Batch.trusted(batch.signal, rewriter.finish(), batch.count) : batch;
  }

  private enter(plan: RewritePlan, start: number, end: number, lengthRoom: number): FieldFrame {
    const { rewriter } = this;
    const depth = ++this.depth;
    if (depth === this.frames.length) this.frames.push({ plan, start, end, outStart: 0, lengthRoom });
    const frame = this.frames[depth]!;
    frame.plan = plan;
    frame.start = start;
    frame.end = end;
    frame.outStart = rewriter.outputPosition(start);
    frame.lengthRoom = lengthRoom;
    if (plan.owner !== undefined) this.visitor.open(plan.owner);
    return frame;
  }
}

/** What a small batch may cost. */
const UNITS_PER_BATCH = 4_000_000;
const UNITS_PER_FIELD = 10;

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
};

type RewritePlans = ReadonlyMap<Message, RewritePlan>;

const PLANS = new Map<string, RewritePlans>();

/** The plans for these places, made once. */
function plansFor(places: readonly ExtraPlace[]): RewritePlans {
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
      actions: new Uint8Array(TAG_LIMIT).fill(unknownAction),
      children: new Array(TAG_LIMIT).fill(undefined),
      texts: new Array(TAG_LIMIT).fill(undefined),
      owner: ATTRIBUTE_OWNERS[one.name],
      attributesTag: attributesTagOf(one),
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
