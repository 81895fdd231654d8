import type { AgentInspection, GraphEdge } from "#contract/operations";
import { eachPoint, type PlacedRecord, placedRecords } from "#otlp/json";
import { DROP, KEEP, RecordWalk } from "#otlp/views";
import type { RecordCondition } from "#ottl";
import { type Batch, batchToJson, type Clock } from "../../../plugin.js";
import type { EventSource, EventStream } from "../events.js";

/** What somebody wants to see of what passes. */
export interface TapSettings {
  readonly edges: readonly GraphEdge[];
  readonly where: RecordCondition | undefined;
  /** Records per second, and in all. */
  readonly rate: number;
  readonly limit: number;
}

/** What a tap is given. */
export interface TapServices {
  readonly inspection: AgentInspection;
  readonly clock: Clock;
  readonly budget: TapBudget;
  /** Makes of a batch what people may see; throws when it cannot. */
  readonly mask: (batch: Batch) => Batch;
}

const REFILL_MS = 1000;
/** Of one batch no more records are looked at, however few of them are wanted. */
const MAX_EXAMINED = 1000;
/** A larger record is not shown: it would fill the memory of whoever looks. */
const MAX_RECORD_BYTES = 256 * 1024;
const MAX_SHOWN_BYTES = 1024 * 1024;
/** Batches that were chosen from and wait for time to be masked in. */
const MAX_WAITING = 8;

/**
 * The time that all taps together may take from the pipelines: 1 % of each second. What passes when it is used up is not looked
 * at, and counted as dropped.
 */
export class TapBudget {
  private readonly clock: Clock;
  private left = MAX_WORK_MS;
  private filledAt: number;

  constructor(clock: Clock) {
    this.clock = clock;
    this.filledAt = clock.monotonic();
  }

  /** How long to wait until there is time again; 0 when there is. */
  get waitMs(): number {
    const now = this.clock.monotonic();
    this.left = Math.min(MAX_WORK_MS, this.left + (now - this.filledAt) * WORK_SHARE);
    this.filledAt = now;
    return this.left > 0 ? 0 : Math.ceil(1 - this.left / WORK_SHARE);
  }

  /** Runs the work if there is time for it; undefined when there is none. */
  run<T>(work: () => T): T | undefined {
    if (this.waitMs > 0) return undefined;
    const start = this.filledAt;
    try {
      return work();
    } finally {
      this.left -= this.clock.monotonic() - start;
    }
  }
}

const WORK_SHARE = 0.01;
const MAX_WORK_MS = 10;

/** Sends the records that pass, masked, until there were enough of them. */
export function tapEvents(settings: TapSettings, services: TapServices): EventSource {
  return (stream) => new Tap(settings, services, stream).start();
}

class Tap {
  private readonly settings: TapSettings;
  private readonly services: TapServices;
  private readonly stream: EventStream;
  /** How many may be chosen before the next refill, and in all: what was chosen and could not be shown does not count. */
  private tokens: number;
  private left: number;
  private unshown: number;
  private waiting = 0;
  private isOver = false;

  constructor(settings: TapSettings, services: TapServices, stream: EventStream) {
    this.settings = settings;
    this.services = services;
    this.stream = stream;
    this.tokens = settings.rate;
    this.left = settings.limit;
    this.unshown = settings.limit;
  }

  start(): () => void {
    const { inspection, clock } = this.services;
    const endWatch = inspection.watch(this.settings.edges, (batch, edge) => this.see(batch, edge));
    const refill = () => {
      this.tokens = this.settings.rate;
      this.stream.tellDropped();
      cancelRefill = clock.after(REFILL_MS, refill);
    };
    let cancelRefill = clock.after(REFILL_MS, refill);
    return () => {
      this.isOver = true;
      endWatch();
      cancelRefill();
    };
  }

  /** The pipeline waits for this. */
  private see(batch: Batch, edge: GraphEdge): void {
    const wanted = Math.min(this.tokens, this.left);
    const chosen = wanted > 0 ? this.services.budget.run(() => this.tryToChoose(batch, wanted)) : undefined;
    if (chosen === undefined) return this.stream.drop(batch.count);
    this.stream.drop(chosen.missed);
    const { count } = chosen.batch;
    if (count === 0) return;
    this.tokens -= count;
    this.left -= count;
    this.waiting += 1;
    this.services.clock.after(0, () => this.showInTime(chosen.batch, edge));
  }

  /** What was chosen is not thrown away because choosing it took all the time there was, unless too much waits already. */
  private showInTime(batch: Batch, edge: GraphEdge): void {
    if (this.isOver) return;
    const { budget, clock } = this.services;
    const { waitMs } = budget;
    if (waitMs > 0 && this.waiting <= MAX_WAITING) return void clock.after(waitMs, () => this.showInTime(batch, edge));
    this.waiting -= 1;
    this.show(batch, edge);
  }

  /** A condition that fails on a record says nothing of the batch. */
  private tryToChoose(batch: Batch, wanted: number) {
    try {
      return this.choose(batch, wanted);
    } catch {
      return undefined;
    }
  }

  private choose(batch: Batch, wanted: number): { readonly batch: Batch; readonly missed: number } {
    const { where } = this.settings;
    const examined = firstRecords(batch, where === undefined ? wanted : MAX_EXAMINED);
    const matching = where === undefined ? examined : where.matching(examined);
    const shown = firstRecords(matching, wanted);
    return { batch: shown, missed: batch.count - examined.count + matching.count - shown.count };
  }

  /** The pipeline does not wait for this. */
  private show(batch: Batch, edge: GraphEdge): void {
    const shown = this.services.budget.run(() => this.sendMasked(batch, edge)) ?? 0;
    const missed = batch.count - shown;
    this.stream.drop(missed);
    this.left += missed;
    this.unshown -= shown;
    if (this.unshown <= 0) this.finish();
  }

  /** How many that were; what a reader who is too slow loses counts among them, for the stream tells of it. */
  private sendMasked(batch: Batch, edge: GraphEdge): number {
    const records = this.maskedRecords(batch);
    const at = new Date(this.services.clock.now()).toISOString();
    for (const placed of records)
      this.stream.sendJson("record", JSON.stringify({ at, edge: edge.id, signal: batch.signal, ...placed }));
    return records.length;
  }

  /** None when they cannot be masked: then they must not be seen. */
  private maskedRecords(batch: Batch): PlacedRecord[] {
    try {
      return batch.byteLength > MAX_SHOWN_BYTES ? [] : recordsOf(this.services.mask(batch));
    } catch {
      return [];
    }
  }

  private finish(): void {
    this.stream.tellDropped();
    this.stream.send("end", { reason: "limit" });
    this.stream.end();
  }
}

/** A batch with only the first so many of its records, and none that is too large. */
function firstRecords(batch: Batch, wanted: number): Batch {
  if (batch.count <= wanted && batch.byteLength <= MAX_RECORD_BYTES) return batch;
  let left = wanted;
  return new RecordWalk(batch).run({
    visit(_, start, end) {
      if (left === 0 || end - start > MAX_RECORD_BYTES) return DROP;
      left -= 1;
      return KEEP;
    },
  });
}

function recordsOf(batch: Batch): PlacedRecord[] {
  const placed = placedRecords(batch.signal, JSON.parse(batchToJson(batch)));
  return batch.signal === "metrics" ? placed.flatMap(eachPoint) : placed;
}
