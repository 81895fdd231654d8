import { pointNumber } from "#metrics";
import { bodyEnd, decodeText, eachBody, fieldTag, message, nextBody, stepOver, WireWriter } from "#otlp/bytes";
import {
  DATA_POINT_TAG,
  GAUGE_TAG,
  METRIC_DATA_TAGS,
  METRIC_NAME_TAG,
  METRIC_UNIT_TAG,
  MONOTONIC_TAG,
  NUMBER_DOUBLE_TAG,
  NUMBER_INT_TAG,
  SUM_TAG,
} from "#otlp/metric-tags";
import { SCOPE_CONTAINER_TAG, SCOPE_ITEM_TAG } from "#otlp/tags";
import { KEEP, type RecordVisitor, type RecordWalk, type Verdict } from "#otlp/views";
import type { GenerationRule } from "./config.js";

/** The data of a metric: its tag is the kind. */
interface OperandData {
  readonly tag: number;
  readonly start: number;
  readonly end: number;
}

/** Sees scopes, and appends the metrics that the rules make of theirs. */
export class GeneratingVisitor implements RecordVisitor {
  /** The number of new points. */
  generated = 0;
  private readonly rules: readonly GenerationRule[];
  private readonly out = new WireWriter(1024);
  /** The metrics of the current resource. Of several with the same name the last one counts. */
  private readonly byName = new Map<string, OperandData | undefined>();
  private resourceSerial = 0;

  constructor(rules: readonly GenerationRule[]) {
    this.rules = rules;
  }

  visit(walk: RecordWalk, start: number, end: number): Verdict {
    const { bytes: b, frames, serials } = walk;
    if (serials[0] !== this.resourceSerial) {
      this.resourceSerial = serials[0]!;
      this.indexResource(b, frames[0]!.start, frames[0]!.end);
    }
    const { out } = this;
    out.clear();
    const metrics = this.rules.some(({ metric1 }) => this.byName.has(metric1)) ? metricsIn(b, start, end) : [];
    for (const rule of this.rules) {
      const operand = this.operandOf(b, rule);
      if (operand === undefined) continue;
      for (const [name, data] of metrics)
        if (name === rule.metric1 && data !== undefined) this.write(rule, operand, b, data);
    }
    if (out.length > 0) walk.extendRecord(start, Uint8Array.from(out.written()));
    return KEEP;
  }

  private indexResource(b: Uint8Array, start: number, end: number): void {
    this.byName.clear();
    eachBody(b, start, end, SCOPE_CONTAINER_TAG, (scopeStart, scopeEnd) => {
      for (const [name, data] of metricsIn(b, scopeStart, scopeEnd)) this.byName.set(name, data);
    });
  }

  /** Returns the second operand; undefined if there is none, or no first one. */
  private operandOf(b: Uint8Array, { metric1, operand }: GenerationRule): number | undefined {
    if (!this.byName.has(metric1)) return undefined;
    if (typeof operand === "number") return operand;
    return this.byName.has(operand) ? firstValue(b, this.byName.get(operand)) : undefined;
  }

  /** A sum stays monotonic if it is combined with a constant; of two metrics the result may fall. */
  private write(rule: GenerationRule, operand: number, b: Uint8Array, data: OperandData): void {
    const { name, unit, operation } = rule;
    if (operand === 0 && (operation === "divide" || operation === "percent")) return;
    if (nextBody(b, data.start, data.end, DATA_POINT_TAG) < 0) return;
    const { out } = this;
    out.byte(SCOPE_ITEM_TAG);
    out.begin(data.end - data.start);
    out.byte(METRIC_NAME_TAG);
    out.text(name);
    if (unit !== "") {
      out.byte(METRIC_UNIT_TAG);
      out.text(unit);
    }
    out.byte(data.tag);
    out.begin(data.end - data.start);
    for (let p = data.start; p < data.end; ) {
      const at = p;
      p = stepOver(b, p);
      if (fieldTag === DATA_POINT_TAG) this.writePoint(b, ...message(b, at, p, DATA_POINT_TAG), operation, operand);
      else if (fieldTag !== MONOTONIC_TAG || typeof rule.operand === "number") out.copy(b, at, p);
    }
    out.end();
    out.end();
  }

  /** Copies a point with its new value. A point without a value counts as 0. */
  private writePoint(
    b: Uint8Array,
    start: number,
    end: number,
    operation: GenerationRule["operation"],
    operand: number,
  ): void {
    const { out } = this;
    out.byte(DATA_POINT_TAG);
    out.begin(end - start);
    let copied = start;
    for (let p = start; p < end; ) {
      const at = p;
      p = stepOver(b, p);
      if (fieldTag !== NUMBER_DOUBLE_TAG && fieldTag !== NUMBER_INT_TAG) continue;
      out.copy(b, copied, at);
      copied = p;
    }
    out.copy(b, copied, end);
    out.byte(NUMBER_DOUBLE_TAG);
    out.double(calculate(pointNumber(b, start, end), operand, operation));
    out.end();
    this.generated++;
  }
}

function calculate(one: number, other: number, operation: GenerationRule["operation"]): number {
  switch (operation) {
    case "add":
      return one + other;
    case "subtract":
      return one - other;
    case "multiply":
      return one * other;
    case "divide":
      return one / other;
    case "percent":
      return (one / other) * 100;
  }
}

/** Names and data of the metrics of a scope. Data that is neither a gauge nor a sum is undefined. */
function metricsIn(b: Uint8Array, start: number, end: number): [name: string, data: OperandData | undefined][] {
  const metrics: [string, OperandData | undefined][] = [];
  eachBody(b, start, end, SCOPE_ITEM_TAG, (from, to) => {
    const name = decodeText(b, ...message(b, from, to, METRIC_NAME_TAG));
    metrics.push([name, dataIn(b, from, to)]);
  });
  return metrics;
}

function dataIn(b: Uint8Array, start: number, end: number): OperandData | undefined {
  let found: OperandData | undefined;
  for (let p = start; p < end; ) {
    const at = p;
    p = stepOver(b, p);
    const tag = fieldTag;
    if (!METRIC_DATA_TAGS.includes(tag)) continue;
    const [from, to] = message(b, at, p, tag);
    found = tag === GAUGE_TAG || tag === SUM_TAG ? { tag, start: from, end: to } : undefined;
  }
  return found;
}

/** The value of the first point; 0 if there is none. */
function firstValue(b: Uint8Array, data: OperandData | undefined): number {
  if (data === undefined) return 0;
  const at = nextBody(b, data.start, data.end, DATA_POINT_TAG);
  return at < 0 ? 0 : pointNumber(b, at, bodyEnd);
}
