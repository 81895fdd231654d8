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

/** What attributes belong to. */
export type AttributeOwner = "resource" | "scope" | "metric" | "record" | "event" | "link" | "exemplar";

/** Texts beside attributes and bodies that can hold anything. */
export type TextField = "span.name" | "span.status_message" | "span_event.name";

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
export function rewriteFields(batch: Batch, visitor: FieldVisitor): Batch {
  const rewriter = new Rewriter(batch.bytes);
  rewriteMessage(rewriter, 0, rewriter.bytes.length, PLANS.get(REQUEST[batch.signal])!, visitor);
  return rewriter.changed ? Batch.trusted(batch.signal, rewriter.finish(), batch.count) : batch;
}

interface RewritePlan {
  /** By tag. */
  readonly actions: Uint8Array;
  readonly children: readonly (RewritePlan | undefined)[];
  readonly texts: readonly (TextField | undefined)[];
  readonly owner: AttributeOwner | undefined;
  readonly attributesTag: number;
}

const SKIP = 0;
const DESCEND = 1;
const ATTRIBUTE = 2;
const BODY = 3;
const TEXT = 4;

function rewriteMessage(rewriter: Rewriter, p: number, end: number, plan: RewritePlan, visitor: FieldVisitor): void {
  const b = rewriter.bytes;
  const { actions, owner } = plan;
  if (owner !== undefined) visitor.open(owner);
  while (p < end) {
    const at = p;
    let tag = b[p++]!;
    if (tag > 127) {
      tag = varint(b, at);
      p = after;
    }
    const action = tag < TAG_LIMIT ? actions[tag]! : SKIP;
    if (action === SKIP) {
      p = skip(b, p, tag);
      continue;
    }
    const lengthAt = p;
    let size = b[p++]!;
    if (size > 127) {
      size = varint(b, lengthAt);
      p = after;
    }
    const stop = p + size;
    if (action === ATTRIBUTE) visitor.attribute(rewriter, at, lengthAt, p, stop);
    else if (action === DESCEND) {
      const outStart = rewriter.outputPosition(p);
      rewriteMessage(rewriter, p, stop, plan.children[tag]!, visitor);
      rewriter.closeMessage(p, stop, outStart, p - lengthAt);
    } else if (action === BODY) visitor.body(rewriter, at, lengthAt, p, stop);
    else visitor.text(rewriter, plan.texts[tag]!, lengthAt, p, stop);
    p = stop;
  }
  if (owner !== undefined) visitor.close(rewriter, owner, end, plan.attributesTag);
}

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

const PLANS: ReadonlyMap<Message, RewritePlan> = compilePlans();

function compilePlans(): Map<Message, RewritePlan> {
  const plans = new Map<
    Message,
    RewritePlan & { children: (RewritePlan | undefined)[]; texts: (TextField | undefined)[] }
  >();
  for (const one of Object.values(MESSAGES)) {
    plans.set(one, {
      actions: new Uint8Array(TAG_LIMIT),
      children: new Array(TAG_LIMIT).fill(undefined),
      texts: new Array(TAG_LIMIT).fill(undefined),
      owner: ATTRIBUTE_OWNERS[one.name],
      attributesTag: attributesTagOf(one),
    });
  }
  for (const [one, plan] of plans) {
    for (const field of one.fields) {
      const { tag, message: child } = field;
      const text = TEXT_FIELDS[`${one.name}.${field.name}`];
      if (text !== undefined) {
        plan.actions[tag] = TEXT;
        plan.texts[tag] = text;
      } else if (child?.name === "KeyValue") plan.actions[tag] = ATTRIBUTE;
      else if (child?.name === "AnyValue") plan.actions[tag] = BODY;
      else if (child !== undefined && holdsFields(child)) {
        plan.actions[tag] = DESCEND;
        plan.children[tag] = plans.get(child);
      }
    }
  }
  return plans;
}

function holdsFields(one: Message): boolean {
  return one.fields.some(
    ({ name, message: child }) =>
      TEXT_FIELDS[`${one.name}.${name}`] !== undefined ||
      child?.name === "KeyValue" ||
      child?.name === "AnyValue" ||
      (child !== undefined && holdsFields(child)),
  );
}
