import type { AgentInspection, GraphEdge, RecordCondition, TapBudget } from "#contract/operations";
import { eachPoint, type PlacedRecord, placedRecords } from "#otlp/json";
import { DROP, KEEP, RecordWalk } from "#otlp/views";
import { type Batch, batchToJson, type Clock } from "../../../plugin.js";
import type { EventSource, EventStream } from "../events.js";

interface TapSettings {
  readonly edges: readonly GraphEdge[];
  readonly where: RecordCondition | undefined;
  /** Records per second, and in total. */
  readonly rate: number;
  readonly limit: number;
}

interface TapServices {
  readonly inspection: AgentInspection;
  readonly clock: Clock;
  readonly budget: TapBudget;
  /** Masks a batch so that people may see it. Throws if that is impossible. */
  readonly mask: (batch: Batch) => Batch;
}

const REFILL_MS = 1000;
/** At most this many records of one batch are tested, however few of them match. */
const MAX_EXAMINED = 1000;
/** A larger record is not shown, because it would fill the reader's memory. */
const MAX_RECORD_BYTES = 256 * 1024;
const MAX_SHOWN_BYTES = 1024 * 1024;
/** Batches with selected records that wait until there is time to mask them. */
const MAX_WAITING = 8;

/** Sends masked copies of passing records until the limit is reached. */
export function tapEvents(settings: TapSettings, services: TapServices): EventSource {
  return (stream) => new Tap(settings, services, stream).start();
}

class Tap {
  private readonly settings: TapSettings;
  private readonly services: TapServices;
  private readonly stream: EventStream;
  /** How many records may be selected before the next refill. */
  private tokens: number;
  /** How many records may be selected in total. Selected records that could not be shown are added back. */
  private left: number;
  /** How many records must still be shown before the tap ends. */
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
    const onMissed = (records: number) => this.stream.drop(records);
    const endWatch = inspection.watch(this.settings.edges, (batch, edge) => this.onBatch(batch, edge), onMissed);
    const refill = () => {
      this.tokens = this.settings.rate;
      this.stream.reportDropped();
      cancelRefill = clock.after(REFILL_MS, refill);
    };
    let cancelRefill = clock.after(REFILL_MS, refill);
    return () => {
      this.isOver = true;
      endWatch();
      cancelRefill();
    };
  }

  /** The pipeline waits for this method. */
  private onBatch(batch: Batch, edge: GraphEdge): void {
    const wanted = Math.min(this.tokens, this.left);
    const chosen = wanted > 0 ? this.services.budget.run(() => this.trySelect(batch, wanted)) : undefined;
    if (chosen === undefined) return this.stream.drop(batch.count);
    this.stream.drop(chosen.missed);
    const { count } = chosen.batch;
    if (count === 0) return;
    this.tokens -= count;
    this.left -= count;
    this.waiting += 1;
    this.services.clock.after(0, () => this.showInTime(chosen.batch, edge));
  }

  /**
   * Selected records are not discarded only because selecting them used up the time, unless too many batches wait
   * already.
   */
  private showInTime(batch: Batch, edge: GraphEdge): void {
    if (this.isOver) return;
    const { budget, clock } = this.services;
    const { waitMs } = budget;
    if (waitMs > 0 && this.waiting <= MAX_WAITING) return void clock.after(waitMs, () => this.showInTime(batch, edge));
    this.waiting -= 1;
    this.show(batch, edge);
  }

  /** A condition that fails on a record must not affect the pipeline; the batch counts as dropped. */
  private trySelect(batch: Batch, wanted: number) {
    try {
      return this.select(batch, wanted);
    } catch {
      return undefined;
    }
  }

  private select(batch: Batch, wanted: number): { readonly batch: Batch; readonly missed: number } {
    const { where } = this.settings;
    const examined = firstRecords(batch, where === undefined ? wanted : MAX_EXAMINED);
    const matching = where === undefined ? examined : where.matching(examined);
    const shown = firstRecords(matching, wanted);
    return { batch: shown, missed: batch.count - examined.count + matching.count - shown.count };
  }

  /** The pipeline does not wait for this method. */
  private show(batch: Batch, edge: GraphEdge): void {
    const shown = this.services.budget.run(() => this.sendMasked(batch, edge)) ?? 0;
    const missed = batch.count - shown;
    this.stream.drop(missed);
    this.left += missed;
    this.unshown -= shown;
    if (this.unshown <= 0) this.finish();
  }

  /** Returns the number of records sent, including those that a slow reader loses, because the stream reports these. */
  private sendMasked(batch: Batch, edge: GraphEdge): number {
    const records = this.maskedRecords(batch);
    const at = new Date(this.services.clock.now()).toISOString();
    for (const placed of records)
      this.stream.sendJson("record", JSON.stringify({ at, edge: edge.id, signal: batch.signal, ...placed }));
    return records.length;
  }

  /** Returns no records if they cannot be masked, because then they must not be seen. */
  private maskedRecords(batch: Batch): PlacedRecord[] {
    try {
      return batch.byteLength > MAX_SHOWN_BYTES ? [] : recordsOf(this.services.mask(batch));
    } catch {
      return [];
    }
  }

  private finish(): void {
    this.stream.reportDropped();
    this.stream.send("end", { reason: "limit" });
    this.stream.end();
  }
}

/** Returns a batch with at most `wanted` of the first records, without those that are too large. */
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
