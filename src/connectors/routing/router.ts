import {
  Batch,
  type ConnectorContext,
  dropWhere,
  keepWhere,
  type OnOttlError,
  type Origin,
  sortWhere,
  transformBatch,
} from "../../plugin.js";
import type { RecordTest } from "./compile.js";
import type { Route, RoutingConfig } from "./config.js";
import type { RequestTest } from "./request.js";

/** A batch and the pipelines it goes to. */
export interface Part {
  readonly batch: Batch;
  readonly pipelines: readonly string[];
}

export interface Sorted {
  readonly copied: readonly Part[];
  /** Every record is in at most one of these. No two lead to the same pipelines. */
  readonly moved: readonly Part[];
  /** Records that go nowhere. */
  readonly dropped: number;
}

/**
 * The table for one signal. Neighbouring routes of one context that move records are one step, so that they cost one
 * pass over the batch together.
 */
type Step =
  | { readonly kind: "request"; readonly test: RequestTest; readonly isCopy: boolean; readonly pipelines: Names }
  | { readonly kind: "copy"; readonly test: RecordTest; readonly pipelines: Names }
  | { readonly kind: "move"; readonly tests: RecordTest[]; readonly pipelines: Names[] };

type Names = readonly string[];

export class Router {
  private readonly steps: readonly Step[];
  private readonly defaults: Names;
  private readonly onError: OnOttlError | undefined;

  constructor({ table, defaults }: RoutingConfig, context: ConnectorContext, onError: OnOttlError | undefined) {
    this.onError = onError;
    this.steps = stepsOf(table, context);
    this.defaults = defaults.filter((name) => context.targets.includes(name));
  }

  /** Decides where everything goes. Throws when a condition fails and nobody wants to be told of it. */
  sort(batch: Batch, origin: Origin): Sorted {
    const copied: Part[] = [];
    const moved = new Map<string, { batches: Batch[]; pipelines: Names }>();
    const move = (part: Batch, pipelines: Names) => {
      const key = pipelines.join(" ");
      const same = moved.get(key);
      if (same === undefined) moved.set(key, { batches: [part], pipelines });
      else same.batches.push(part);
    };
    let rest: Batch | undefined = batch;
    for (const step of this.steps) {
      if (rest === undefined) break;
      if (step.kind === "copy") this.copy(rest, step.test, step.pipelines, copied);
      else if (step.kind === "move") rest = this.move(rest, step.tests, step.pipelines, move);
      else if (step.test(origin)) {
        if (step.isCopy) copied.push({ batch: rest, pipelines: step.pipelines });
        else {
          move(rest, step.pipelines);
          rest = undefined;
        }
      }
    }
    if (rest !== undefined && this.defaults.length > 0) move(rest, this.defaults);
    return {
      copied,
      moved: [...moved.values()].map(({ batches, pipelines }) => ({ batch: Batch.merge(batches), pipelines })),
      dropped: rest === undefined || this.defaults.length > 0 ? 0 : this.uncopied(rest, origin),
    };
  }

  /** How many of these records no copy was made of. */
  private uncopied(batch: Batch, origin: Origin): number {
    let left = batch;
    for (const step of this.steps) {
      if (step.kind === "copy") left = dropWhere(left, [step.test.condition], () => {});
      else if (step.kind === "request" && step.isCopy && step.test(origin)) return 0;
    }
    return left.count;
  }

  private copy(batch: Batch, test: RecordTest, pipelines: Names, copied: Part[]): void {
    const matched = keepWhere(batch, [test.condition], this.onError);
    if (matched.count > 0) copied.push({ batch: this.edited(matched, test), pipelines });
  }

  /** Gives what none of the routes took. */
  private move(
    batch: Batch,
    tests: readonly RecordTest[],
    pipelines: readonly Names[],
    move: (part: Batch, pipelines: Names) => void,
  ): Batch | undefined {
    const heaps = sortWhere(
      batch,
      tests.map(({ condition }) => condition),
      this.onError,
    );
    for (const [i, test] of tests.entries()) {
      const matched = heaps[i];
      if (matched !== undefined) move(this.edited(matched, test), pipelines[i]!);
    }
    return heaps[tests.length];
  }

  private edited(batch: Batch, { editor }: RecordTest): Batch {
    return editor === undefined ? batch : transformBatch(batch, [editor], [], this.onError);
  }
}

function stepsOf(table: readonly Route[], { from, targets }: ConnectorContext): Step[] {
  const steps: Step[] = [];
  for (const { test, isCopy, pipelines: all } of table) {
    const pipelines = all.filter((name) => targets.includes(name));
    if (pipelines.length === 0) continue;
    if ("request" in test) {
      steps.push({ kind: "request", test: test.request, isCopy, pipelines });
      continue;
    }
    const mine = test.records[from];
    if (mine === undefined) continue;
    const last = steps.at(-1);
    if (isCopy) steps.push({ kind: "copy", test: mine, pipelines });
    else if (last?.kind === "move" && last.tests[0]!.condition.context === mine.condition.context) {
      last.tests.push(mine);
      last.pipelines.push(pipelines);
    } else steps.push({ kind: "move", tests: [mine], pipelines: [pipelines] });
  }
  return steps;
}
