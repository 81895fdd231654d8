import { Batch } from "../telemetry/batch.js";
import { checkRequest } from "../telemetry/check.js";
import { partition } from "../telemetry/partition.js";
import { DROP, KEEP, type RecordVisitor, RecordWalk, type Verdict } from "../telemetry/walk.js";
import type { Condition, Statement } from "./compiled.js";
import { CONTEXT_SHAPES, CONTEXT_SIGNALS, COUNTS_RECORDS, type ContextName } from "./context.js";
import { failureOf, OttlError } from "./error.js";
import { Scene } from "./scene.js";

/**
 * Told of a condition or statement that failed on a record; the work then goes on as if it had not matched. Without
 * one the error is thrown, and the batch stays as it was.
 */
export type OnOttlError = (error: OttlError, failed: Condition | Statement) => void;

/** The batch without the records (or resources, scopes, metrics, span events) for which any of the conditions holds. */
export function dropWhere(batch: Batch, conditions: readonly Condition[], onError?: OnOttlError): Batch {
  return conditions.length === 0
    ? batch
    : walked(batch, conditions[0]!.context, new Dropper(conditions, true, onError));
}

/** The batch with only those for which any of the conditions holds. */
export function keepWhere(batch: Batch, conditions: readonly Condition[], onError?: OnOttlError): Batch {
  return conditions.length === 0
    ? Batch.empty(batch.signal)
    : walked(batch, conditions[0]!.context, new Dropper(conditions, false, onError));
}

/**
 * Sorts by the first of the conditions (all of one context) that holds: what the batch at each condition's index has,
 * and behind them, what none holds for. Those with nothing in them are undefined; a batch that goes to one place whole
 * is the same batch.
 */
export function sortWhere(
  batch: Batch,
  conditions: readonly Condition[],
  onError?: OnOttlError,
): (Batch | undefined)[] {
  if (conditions.length === 0) return [batch];
  const { context } = conditions[0]!;
  checkContext(batch, context);
  if (context === "spanevent") throw new TypeError("span events cannot be taken apart from their spans");
  const scene = new Scene(context);
  return partition(batch, CONTEXT_SHAPES[context], conditions.length + 1, (walk, start, end) => {
    scene.begin(walk, start, end);
    for (let i = 0; i < conditions.length; i++) {
      const condition = conditions[i]!;
      if (onError === undefined ? condition.matches(scene) : holds(condition, scene, onError)) return i;
    }
    return conditions.length;
  });
}

/** Does any of the conditions hold for anything in the batch? */
export function anyMatches(batch: Batch, conditions: readonly Condition[], onError?: OnOttlError): boolean {
  if (conditions.length === 0) return false;
  const searcher = new Searcher(conditions, onError);
  walked(batch, conditions[0]!.context, searcher);
  return searcher.found;
}

/**
 * Executes statements of one context on everything in the batch that they are about, one record after the other, if
 * there are no conditions or any of them holds for it. Gives the same batch when nothing changed.
 */
export function transformBatch(
  batch: Batch,
  statements: readonly Statement[],
  conditions: readonly Condition[] = [],
  onError?: OnOttlError,
): Batch {
  if (statements.length === 0) return batch;
  return walked(batch, statements[0]!.context, new Transformer(statements, conditions, onError));
}

/** Decides conditions on records that another walk visits: call `meet` for each record, then ask. */
export class ConditionSet {
  private readonly conditions: readonly Condition[];
  private readonly onError: OnOttlError | undefined;
  private readonly scene: Scene;

  constructor(conditions: readonly Condition[], onError?: OnOttlError) {
    this.conditions = conditions;
    this.onError = onError;
    this.scene = new Scene(conditions[0]?.context ?? "log");
  }

  /** Does any of them hold for the record in [start, end) of the walk? */
  any(walk: RecordWalk, start: number, end: number): boolean {
    this.scene.begin(walk, start, end);
    return anyHolds(this.conditions, this.scene, this.onError);
  }
}

/** Metrics that may come of one: conditions that hold for what they make would never end. */
const MOST_ADDED = 100;

function walked(batch: Batch, context: ContextName, visitor: RecordVisitor): Batch {
  checkContext(batch, context);
  const result = new RecordWalk(batch, CONTEXT_SHAPES[context]).run(visitor);
  if (result === batch || COUNTS_RECORDS.has(context)) return result;
  const count = context === "spanevent" ? batch.count : checkRequest(result.signal, result.bytes);
  return Batch.trusted(result.signal, result.bytes, count);
}

function checkContext(batch: Batch, context: ContextName): void {
  if (!CONTEXT_SIGNALS[context].includes(batch.signal))
    throw new TypeError(`there is no ${context} in a batch of ${batch.signal}`);
}

function anyHolds(conditions: readonly Condition[], scene: Scene, onError: OnOttlError | undefined): boolean {
  for (let i = 0; i < conditions.length; i++) {
    const condition = conditions[i]!;
    if (onError === undefined) {
      if (condition.matches(scene)) return true;
    } else if (holds(condition, scene, onError)) return true;
  }
  return false;
}

function holds(condition: Condition, scene: Scene, onError: OnOttlError): boolean {
  try {
    return condition.matches(scene);
  } catch (error) {
    onError(failureOf(error), condition);
    return false;
  }
}

class Dropper implements RecordVisitor {
  private readonly conditions: readonly Condition[];
  private readonly drops: boolean;
  private readonly onError: OnOttlError | undefined;
  private readonly scene: Scene;

  constructor(conditions: readonly Condition[], drops: boolean, onError: OnOttlError | undefined) {
    this.conditions = conditions;
    this.drops = drops;
    this.onError = onError;
    this.scene = new Scene(conditions[0]!.context);
  }

  visit(walk: RecordWalk, start: number, end: number): Verdict {
    this.scene.begin(walk, start, end);
    return anyHolds(this.conditions, this.scene, this.onError) === this.drops ? DROP : KEEP;
  }
}

class Searcher implements RecordVisitor {
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

function endless(): OttlError {
  return new OttlError(
    `statements made more than ${MOST_ADDED} metrics of one: their conditions hold for the new ones`,
  );
}

class Transformer implements RecordVisitor {
  private readonly statements: readonly Statement[];
  private readonly conditions: readonly Condition[];
  private readonly onError: OnOttlError | undefined;
  private readonly scene: Scene;

  constructor(statements: readonly Statement[], conditions: readonly Condition[], onError: OnOttlError | undefined) {
    this.statements = statements;
    this.conditions = conditions;
    this.onError = onError;
    this.scene = new Scene(statements[0]!.context);
  }

  visit(walk: RecordWalk, start: number, end: number): Verdict {
    const { scene } = this;
    scene.begin(walk, start, end);
    if (this.conditions.length > 0 && !anyHolds(this.conditions, scene, this.onError)) return KEEP;
    for (let i = 0; i < this.statements.length; i++) this.execute(this.statements[i]!);
    scene.finish();
    if (scene.added.length > 0) this.visitAdded();
    return KEEP;
  }

  /** Added metrics are transformed like any other, which may add more. */
  private visitAdded(): void {
    const { scene, statements } = this;
    for (let n = 0; scene.added.length > 0; n++) {
      scene.beginAdded(scene.added.shift()!);
      const meant = this.conditions.length === 0 || anyHolds(this.conditions, scene, this.onError);
      for (let i = 0; meant && i < statements.length; i++) this.execute(statements[i]!);
      scene.finishAdded();
      if (n === MOST_ADDED) this.stopAdding();
    }
  }

  private stopAdding(): void {
    this.scene.added.length = 0;
    const error = endless();
    if (this.onError === undefined) throw error;
    this.onError(error, this.statements[0]!);
  }

  private execute(statement: Statement): void {
    if (this.onError === undefined) {
      statement.execute(this.scene);
      return;
    }
    try {
      statement.execute(this.scene);
    } catch (error) {
      this.onError(failureOf(error), statement);
    }
  }
}
