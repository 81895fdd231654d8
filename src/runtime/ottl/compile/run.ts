import type { Origin } from "#contract";
import { Batch } from "#otlp";
import { countRecords, SHAPES } from "#otlp/bytes";
import { partition } from "#otlp/edit";
import { DROP, KEEP, type RecordVisitor, RecordWalk, type Verdict } from "#otlp/views";
import {
  CONTEXT_SHAPES,
  CONTEXT_SIGNALS,
  CONTEXTS_INSIDE_RECORDS,
  CONTEXTS_OF_RECORDS,
  type ContextName,
} from "../paths/context.js";
import { RecordContext } from "../paths/record-context.js";
import { OttlError, toOttlError } from "../values/error.js";
import type { Condition, Statement } from "./compile.js";

/**
 * Called with a condition or statement that failed on a record; work then continues as if it had not matched. Without
 * this handler the error is thrown, and the batch stays as it was.
 */
export type OnOttlError = (error: OttlError, failed: Condition | Statement) => void;

/**
 * The batch without the records (or resources, scopes, metrics, span events) for which any of the conditions holds, and
 * without resources and scopes that are then empty.
 */
export function dropWhere(
  batch: Batch,
  conditions: readonly Condition[],
  onError?: OnOttlError,
  origin?: Origin,
): Batch {
  return conditions.length === 0
    ? batch
    : runVisitor(batch, conditions[0]!.context, new DroppingVisitor(conditions, true, onError, origin), true);
}

/** The batch with only those for which any of the conditions holds. */
export function keepWhere(batch: Batch, conditions: readonly Condition[], onError?: OnOttlError): Batch {
  return conditions.length === 0
    ? Batch.empty(batch.signal)
    : runVisitor(batch, conditions[0]!.context, new DroppingVisitor(conditions, false, onError));
}

/**
 * Partitions by the first condition that holds (all are of one context): a batch at each condition's index, and at the
 * end the items for which none holds. Empty ones are undefined; a batch that goes to one place as a whole is the same
 * batch.
 */
export function partitionWhere(
  batch: Batch,
  conditions: readonly Condition[],
  onError?: OnOttlError,
): (Batch | undefined)[] {
  if (conditions.length === 0) return [batch];
  const { context } = conditions[0]!;
  checkContext(batch, context);
  if (CONTEXTS_INSIDE_RECORDS.has(context)) throw new TypeError(`a ${context} cannot be taken apart from its record`);
  const ctx = new RecordContext(context);
  return partition(batch, CONTEXT_SHAPES[context], conditions.length + 1, (walk, start, end) => {
    ctx.begin(walk, start, end);
    for (let i = 0; i < conditions.length; i++) {
      const condition = conditions[i]!;
      if (onError === undefined ? condition.matches(ctx) : holds(condition, ctx, onError)) return i;
    }
    return conditions.length;
  });
}

/** Whether any of the conditions holds for anything in the batch. */
export function anyMatches(batch: Batch, conditions: readonly Condition[], onError?: OnOttlError): boolean {
  if (conditions.length === 0) return false;
  const searcher = new SearchingVisitor(conditions, onError);
  runVisitor(batch, conditions[0]!.context, searcher);
  return searcher.found;
}

interface TransformSettings {
  readonly origin?: Origin | undefined;
  /** How large the statements may make a record, in bytes. */
  readonly maxRecordSize?: number | undefined;
}

/**
 * Executes statements of one context on every item of that context in the batch, one after the other, if there are no
 * conditions or any of them holds for it. Returns the same batch if nothing changed.
 */
export function transformBatch(
  batch: Batch,
  statements: readonly Statement[],
  conditions: readonly Condition[] = [],
  onError?: OnOttlError,
  { origin, maxRecordSize }: TransformSettings = {},
): Batch {
  if (statements.length === 0) return batch;
  const visitor = new TransformingVisitor(statements, conditions, onError, maxRecordSize);
  visitor.ctx.origin = origin;
  const result = runVisitor(batch, statements[0]!.context, visitor);
  return visitor.ctx.addedPoints ? recounted(result) : result;
}

/** Evaluates conditions on records that another walk visits: call `any` for each record. */
export class ConditionSet {
  private readonly conditions: readonly Condition[];
  private readonly onError: OnOttlError | undefined;
  private readonly ctx: RecordContext;

  constructor(conditions: readonly Condition[], onError?: OnOttlError) {
    this.conditions = conditions;
    this.onError = onError;
    this.ctx = new RecordContext(conditions[0]?.context ?? "log");
  }

  /** Whether any condition holds for the walk's record in [start, end). */
  any(walk: RecordWalk, start: number, end: number): boolean {
    this.ctx.begin(walk, start, end);
    return anyHolds(this.conditions, this.ctx, this.onError);
  }
}

/** The number of metrics that may result from one: conditions that hold for the metrics they create would never end. */
const MAX_ADDED_METRICS = 100;

function runVisitor(batch: Batch, context: ContextName, visitor: RecordVisitor, dropsEmpty = false): Batch {
  checkContext(batch, context);
  const shape = CONTEXT_SHAPES[context];
  const result = new RecordWalk(batch, dropsEmpty ? { ...shape, dropsEmpty } : shape).run(visitor);
  if (result === batch || CONTEXTS_OF_RECORDS.has(context)) return result;
  return CONTEXTS_INSIDE_RECORDS.has(context)
    ? Batch.trusted(result.signal, result.bytes, batch.count)
    : recounted(result);
}

function recounted({ signal, bytes, byteLength }: Batch): Batch {
  return Batch.trusted(signal, bytes, countRecords(bytes, 0, byteLength, SHAPES[signal]));
}

function checkContext(batch: Batch, context: ContextName): void {
  if (!CONTEXT_SIGNALS[context].includes(batch.signal))
    throw new TypeError(`there is no ${context} in a batch of ${batch.signal}`);
}

function anyHolds(conditions: readonly Condition[], ctx: RecordContext, onError: OnOttlError | undefined): boolean {
  for (let i = 0; i < conditions.length; i++) {
    const condition = conditions[i]!;
    if (onError === undefined) {
      if (condition.matches(ctx)) return true;
    } else if (holds(condition, ctx, onError)) return true;
  }
  return false;
}

function holds(condition: Condition, ctx: RecordContext, onError: OnOttlError): boolean {
  try {
    return condition.matches(ctx);
  } catch (error) {
    onError(toOttlError(error), condition);
    return false;
  }
}

class DroppingVisitor implements RecordVisitor {
  private readonly conditions: readonly Condition[];
  private readonly dropsMatches: boolean;
  private readonly onError: OnOttlError | undefined;
  private readonly ctx: RecordContext;

  constructor(conditions: readonly Condition[], drops: boolean, onError: OnOttlError | undefined, origin?: Origin) {
    this.conditions = conditions;
    this.dropsMatches = drops;
    this.onError = onError;
    this.ctx = new RecordContext(conditions[0]!.context);
    this.ctx.origin = origin;
  }

  visit(walk: RecordWalk, start: number, end: number): Verdict {
    this.ctx.begin(walk, start, end);
    return anyHolds(this.conditions, this.ctx, this.onError) === this.dropsMatches ? DROP : KEEP;
  }
}

class SearchingVisitor implements RecordVisitor {
  found = false;
  private readonly set: ConditionSet;

  constructor(conditions: readonly Condition[], onError: OnOttlError | undefined) {
    this.set = new ConditionSet(conditions, onError);
  }

  visit(walk: RecordWalk, start: number, end: number): Verdict {
    this.found ||= this.set.any(walk, start, end);
    return KEEP;
  }
}

function tooManyAddedMetrics(): OttlError {
  return new OttlError(
    `statements made more than ${MAX_ADDED_METRICS} metrics from one: their conditions also hold for the new ones`,
  );
}

class TransformingVisitor implements RecordVisitor {
  private readonly statements: readonly Statement[];
  private readonly conditions: readonly Condition[];
  private readonly onError: OnOttlError | undefined;
  readonly ctx: RecordContext;

  constructor(
    statements: readonly Statement[],
    conditions: readonly Condition[],
    onError: OnOttlError | undefined,
    maxRecordSize: number | undefined,
  ) {
    this.statements = statements;
    this.conditions = conditions;
    this.onError = onError;
    this.ctx = new RecordContext(statements[0]!.context, maxRecordSize);
  }

  visit(walk: RecordWalk, start: number, end: number): Verdict {
    const { ctx } = this;
    ctx.begin(walk, start, end);
    if (this.conditions.length > 0 && !anyHolds(this.conditions, ctx, this.onError)) return KEEP;
    for (let i = 0; i < this.statements.length; i++) this.execute(this.statements[i]!);
    this.finish();
    if (ctx.addedMetrics.length > 0) this.visitAdded();
    return KEEP;
  }

  private finish(): void {
    if (this.onError === undefined) return this.ctx.finish();
    try {
      this.ctx.finish();
    } catch (error) {
      this.onError(toOttlError(error), this.statements.at(-1)!);
    }
  }

  /** Added metrics are transformed like any other, which may add more. */
  private visitAdded(): void {
    const { ctx, statements } = this;
    for (let n = 0; ctx.addedMetrics.length > 0; n++) {
      ctx.beginAdded(ctx.addedMetrics.shift()!);
      const applies = this.conditions.length === 0 || anyHolds(this.conditions, ctx, this.onError);
      for (let i = 0; applies && i < statements.length; i++) this.execute(statements[i]!);
      ctx.finishAdded();
      if (n === MAX_ADDED_METRICS) this.stopAdding();
    }
  }

  private stopAdding(): void {
    this.ctx.addedMetrics.length = 0;
    const error = tooManyAddedMetrics();
    if (this.onError === undefined) throw error;
    this.onError(error, this.statements[0]!);
  }

  private execute(statement: Statement): void {
    if (this.onError === undefined) {
      statement.execute(this.ctx);
      return;
    }
    try {
      statement.execute(this.ctx);
    } catch (error) {
      this.onError(toOttlError(error), statement);
    }
  }
}
