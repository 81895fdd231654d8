import { dropWhere, keepWhere, type OnOttlError, partitionWhere, transformBatch } from "#ottl";
import { Batch, type ConnectorContext, type Origin } from "../../plugin.js";
import type { RecordTest } from "./compile-test.js";
import type { RoutingConfig, RoutingRule } from "./config.js";
import type { RequestTest } from "./request-test.js";

/** A batch and its target pipelines. */
interface RoutedBatch {
  readonly batch: Batch;
  readonly pipelines: readonly string[];
}

interface RoutingResult {
  readonly copied: readonly RoutedBatch[];
  /** Every record is in at most one of these. No two have the same pipelines. */
  readonly moved: readonly RoutedBatch[];
  /** Number of records without a route. */
  readonly dropped: number;
}

/**
 * The table for one signal. Adjacent routes of one context that move records form one step, so that together they cost
 * one pass over the batch.
 */
type RoutingStep =
  | {
      readonly kind: "request";
      readonly test: RequestTest;
      readonly isCopy: boolean;
      readonly pipelines: PipelineNames;
    }
  | { readonly kind: "copy"; readonly test: RecordTest; readonly pipelines: PipelineNames }
  | { readonly kind: "move"; readonly tests: RecordTest[]; readonly pipelines: PipelineNames[] };

type PipelineNames = readonly string[];

export class Router {
  private readonly steps: readonly RoutingStep[];
  private readonly defaults: PipelineNames;
  private readonly onError: OnOttlError | undefined;

  constructor({ table, defaults }: RoutingConfig, context: ConnectorContext, onError: OnOttlError | undefined) {
    this.onError = onError;
    this.steps = stepsOf(table, context);
    this.defaults = defaults.filter((name) => context.targets.includes(name));
  }

  /** Decides where each record goes. Throws if a condition fails and there is no `onError`. */
  route(batch: Batch, origin: Origin): RoutingResult {
    const copied: RoutedBatch[] = [];
    const moved = new Map<string, { batches: Batch[]; pipelines: PipelineNames }>();
    const addMoved = (part: Batch, pipelines: PipelineNames) => {
      const key = pipelines.join(" ");
      const same = moved.get(key);
      if (same === undefined) moved.set(key, { batches: [part], pipelines });
      else same.batches.push(part);
    };
    let rest: Batch | undefined = batch;
    for (const step of this.steps) {
      if (rest === undefined) break;
      if (step.kind === "copy") this.copy(rest, step.test, step.pipelines, copied);
      else if (step.kind === "move") rest = this.move(rest, step.tests, step.pipelines, addMoved);
      else if (step.test(origin)) {
        if (step.isCopy) copied.push({ batch: rest, pipelines: step.pipelines });
        else {
          addMoved(rest, step.pipelines);
          rest = undefined;
        }
      }
    }
    if (rest !== undefined && this.defaults.length > 0) addMoved(rest, this.defaults);
    return {
      copied,
      moved: [...moved.values()].map(({ batches, pipelines }) => ({ batch: Batch.merge(batches), pipelines })),
      dropped: rest === undefined || this.defaults.length > 0 ? 0 : this.countUncopied(rest, origin),
    };
  }

  /** Returns how many of these records were not copied. */
  private countUncopied(batch: Batch, origin: Origin): number {
    let left = batch;
    for (const step of this.steps) {
      if (step.kind === "copy") left = dropWhere(left, [step.test.condition], () => {});
      else if (step.kind === "request" && step.isCopy && step.test(origin)) return 0;
    }
    return left.count;
  }

  private copy(batch: Batch, test: RecordTest, pipelines: PipelineNames, copied: RoutedBatch[]): void {
    const matched = keepWhere(batch, [test.condition], this.onError);
    if (matched.count > 0) copied.push({ batch: this.applyEditor(matched, test), pipelines });
  }

  /** Returns the records that none of the routes matched. */
  private move(
    batch: Batch,
    tests: readonly RecordTest[],
    pipelines: readonly PipelineNames[],
    addMoved: (part: Batch, pipelines: PipelineNames) => void,
  ): Batch | undefined {
    const matchedByRule = partitionWhere(
      batch,
      tests.map(({ condition }) => condition),
      this.onError,
    );
    for (const [i, test] of tests.entries()) {
      const matched = matchedByRule[i];
      if (matched !== undefined) addMoved(this.applyEditor(matched, test), pipelines[i]!);
    }
    return matchedByRule[tests.length];
  }

  private applyEditor(batch: Batch, { editor }: RecordTest): Batch {
    return editor === undefined ? batch : transformBatch(batch, [editor], [], this.onError);
  }
}

function stepsOf(table: readonly RoutingRule[], { from, targets }: ConnectorContext): RoutingStep[] {
  const steps: RoutingStep[] = [];
  for (const { test, isCopy, pipelines: all } of table) {
    const pipelines = all.filter((name) => targets.includes(name));
    if (pipelines.length === 0) continue;
    if ("request" in test) {
      steps.push({ kind: "request", test: test.request, isCopy, pipelines });
      continue;
    }
    const recordTest = test.records[from];
    if (recordTest === undefined) continue;
    const last = steps.at(-1);
    if (isCopy) steps.push({ kind: "copy", test: recordTest, pipelines });
    else if (last?.kind === "move" && last.tests[0]!.condition.context === recordTest.condition.context) {
      last.tests.push(recordTest);
      last.pipelines.push(pipelines);
    } else steps.push({ kind: "move", tests: [recordTest], pipelines: [pipelines] });
  }
  return steps;
}
