import { type MonoTypeOperatorFunction, tap } from "rxjs";
import { ACCEPTED, type Clock, Debt, Delivery, type Intake, type Origin, type Outcome, type Setback } from "#contract";
import { checkHandedIn, validateSetback } from "#contract/border";
import { BUSY_RETRY_AFTER_MS, ERROR_CODES, Refusal, shutdownRefusal } from "#contract/errors";
import type { BatchWatcher, GraphDescription, ReceiverHealth } from "#contract/operations";
import { type Batch, hasTooManyValues } from "#otlp";
import type { Signal } from "#otlp/signals";

/** Tells all intakes of a graph whether receivers may hand in data. */
export interface IntakeState {
  /** False once the agent drains: further batches are refused as transient. */
  readonly isOpen: boolean;
}

interface IntakeSettings {
  readonly receiver: string;
  readonly signal: Signal;
  readonly budget: IntakeBudget;
  /** Takes the batches into the stream. */
  readonly next: { handIn(delivery: Delivery): void };
  /** How many values a record may have; see `service.intake.max_record_values`. */
  readonly maxRecordValues: number;
  readonly state: IntakeState;
  /** Counts the batches handed in, and their outcomes. */
  readonly tally: Tally;
  /** Remembers when the last batch was handed in. */
  readonly health?: Pick<ReceiverHealth, "lastMessageAt" | "noteMessage">;
  readonly clock: Clock;
}

/** The intake for one signal of one receiver, shared by all pipelines that read it. */
export function createIntake({
  receiver,
  signal,
  budget,
  next,
  maxRecordValues,
  state,
  tally,
  health,
  clock,
}: IntakeSettings): Intake {
  const defaultOrigin: Origin = { receiver, transport: "", isNew: true };
  return {
    reserve: (bytes) => budget.reserve(bytes),
    release: (bytes) => budget.release(bytes),
    accept(batch: Batch, origin?: Partial<Origin>, setback?: Setback): Promise<Outcome> {
      if (!state.isOpen) return Promise.resolve({ ok: false, refusal: shutdownRefusal() });
      const invalid = checkHandedIn(batch, receiver, signal);
      if (invalid !== undefined) return Promise.resolve({ ok: false, refusal: invalid });
      if (batch.count === 0) return Promise.resolve(ACCEPTED);
      const { byteLength: bytes, count } = batch;
      if (hasTooManyValues(batch, maxRecordValues))
        return Promise.resolve({ ok: false, refusal: crowdedRefusal(maxRecordValues) });
      tally.taken += count;
      if (health?.lastMessageAt === undefined) health?.noteMessage();
      else health.lastMessageAt = clock.now();
      if (!budget.reserve(bytes)) {
        tally.refused += count;
        return Promise.resolve({ ok: false, refusal: overloadRefusal(budget) });
      }
      return new Promise((resolve) => {
        const debt = new Debt((outcome) => {
          budget.release(bytes);
          if (outcome.ok) tally.handedOn += count;
          else tally.refused += count;
          resolve(outcome);
        });
        const whole = isWhole(origin) ? origin : { ...defaultOrigin, ...origin };
        next.handIn(new Delivery(batch, whole, debt, undefined, setback && validateSetback(setback)));
      });
    },
  };
}

/** Whether no default is missing. Copying the origin would take longer than all else that is done for a request here. */
function isWhole(origin: Partial<Origin> | undefined): origin is Origin {
  return origin?.isNew !== undefined && origin.receiver !== undefined && origin.transport !== undefined;
}

function crowdedRefusal(limit: number): Refusal {
  const message = `a record or resource has more than ${limit} values (service.intake.max_record_values)`;
  return new Refusal("permanent", message, { code: ERROR_CODES.SLUICE_TOO_MANY_VALUES });
}

function overloadRefusal(budget: IntakeBudget): Refusal {
  const message = `over the limit of ${budget.limit} unsettled bytes (service.intake.max_bytes)`;
  return new Refusal("throttled", message, { code: ERROR_CODES.SLUICE_OVERLOADED, retryAfterMs: BUSY_RETRY_AFTER_MS });
}

/**
 * Bytes held for clients without an answer: read and not settled. It bounds the memory of every operator behind it,
 * because a pipeline holds no data that was not reserved here.
 */
export class IntakeBudget {
  limit: number;
  private reserved = 0;

  constructor(limit: number) {
    this.limit = limit;
  }

  get used(): number {
    return this.reserved;
  }

  /**
   * Returns false, and reserves nothing, if that would exceed the limit. A batch larger than the limit fits if nothing
   * else is held.
   */
  reserve(bytes: number): boolean {
    if (this.reserved > 0 && this.reserved + bytes > this.limit) return false;
    this.reserved += bytes;
    return true;
  }

  release(bytes: number): void {
    this.reserved -= bytes;
  }
}

/**
 * A point between two components of a pipeline: counts the records that pass, and shows batches to watchers. Watchers
 * cannot change, delay or fail a batch. Without watchers it costs an addition and a branch per batch.
 */
export class Flow {
  records = 0;
  private watchers: readonly BatchWatcher[] | undefined;

  pass(batch: Batch): void {
    this.records += batch.count;
    if (this.watchers !== undefined) this.show(batch);
  }

  /** The returned function stops watching. */
  watch(watcher: BatchWatcher): () => void {
    const own: BatchWatcher = (batch) => watcher(batch);
    this.watchers = [...(this.watchers ?? []), own];
    return () => {
      const left = this.watchers?.filter((each) => each !== own) ?? [];
      this.watchers = left.length === 0 ? undefined : left;
    };
  }

  get isWatched(): boolean {
    return this.watchers !== undefined;
  }

  private show(batch: Batch): void {
    for (const watcher of this.watchers ?? []) {
      try {
        watcher(batch);
      } catch {
        // A watcher must not disturb the pipeline; one that needs to know of its errors catches them itself.
      }
    }
  }
}

/** Counts the deliveries that pass at this point; those with a setback skip the components. */
export function countedBy(flow: Flow): MonoTypeOperatorFunction<Delivery> {
  return tap(({ setback, batch }: Delivery) => {
    if (setback === undefined) flow.pass(batch);
  });
}

/** Counts what a component did with records. */
export class Tally {
  taken = 0;
  handedOn = 0;
  refused = 0;
  deadLettered = 0;
  /** False while the component holds records that may still come out. */
  isIdle: () => boolean = () => true;
}

/** The flows of a graph by their origin, and the tallies of its components by node. */
export class Flows {
  private readonly flows = new Map<string, Flow>();
  private readonly tallies = new Map<string, Tally>();

  /** The flow from a node to the next nodes of a pipeline: one flow, however many there are. */
  from(node: string, pipeline: string): Flow {
    return getOrCreate(this.flows, flowKey(node, pipeline), () => new Flow());
  }

  tally(node: string): Tally {
    return getOrCreate(this.tallies, node, () => new Tally());
  }

  /** Forgets what a graph does not have any more, except flows that are watched: they may come back. */
  keepOnly({ nodes, edges }: GraphDescription): void {
    const flows = new Set(edges.map(({ from, pipeline }) => flowKey(from, pipeline)));
    const tallies = new Set(nodes.map(({ id }) => id));
    for (const [key, flow] of this.flows) if (!flows.has(key) && !flow.isWatched) this.flows.delete(key);
    for (const node of this.tallies.keys()) if (!tallies.has(node)) this.tallies.delete(node);
  }
}

function flowKey(node: string, pipeline: string): string {
  return `${node}@${pipeline}`;
}

function getOrCreate<T>(map: Map<string, T>, key: string, make: () => T): T {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made = make();
  map.set(key, made);
  return made;
}
