import { Observable } from "rxjs";
import { z } from "zod";
import {
  Batch,
  type Clock,
  Delivery,
  defineProcessor,
  duration,
  type Processor,
  Refusal,
  SIGNALS,
  SplitOverflow,
  splitBatch,
} from "../plugin.js";

const schema = z.strictObject({
  timeout: duration().default(200).meta({ description: "How long a record may wait for others. 0 sends at once." }),
  send_batch_size: z.number().int().nonnegative().optional().meta({
    description:
      "Number of records at which a batch is sent without waiting; 0 sends at once. Default 8192, or send_batch_max_size if less. A batch is also sent before it grows over 3 MiB.",
  }),
  send_batch_max_size: z
    .number()
    .int()
    .nonnegative()
    .default(0)
    .meta({ description: "Larger batches are cut into pieces of at most this many records. 0 never cuts." }),
  metadata_keys: z
    .array(z.string())
    .default([])
    .meta({ description: "Client metadata that keeps batches apart: only equal values are batched together." }),
  metadata_cardinality_limit: z.number().int().nonnegative().default(1000),
});

const DEFAULT_SIZE = 8192;
/** What is merged stays under gRPC's usual limit of 4 MiB, so that no request is refused for the company it was in. */
const MERGED_BYTES = 3 * 1024 * 1024;
/** What the pieces of a batch may take: several times what any sensible batch is cut into. */
const CUT_BYTES = 32 * 1024 * 1024;

type BatchConfig = z.infer<typeof schema> & { readonly send_batch_size: number };

/**
 * Makes larger batches out of small ones. The debt follows the data: nobody is told that a record is safe while it
 * waits here, so a crash loses nothing that was acknowledged.
 */
export const batch = defineProcessor<BatchConfig>({
  type: "batch",
  summary: "Collects records into larger batches, by number and by time.",
  signals: SIGNALS,
  schema: schema
    .transform(withSize)
    .refine((c) => c.send_batch_max_size === 0 || c.send_batch_max_size >= c.send_batch_size, {
      path: ["send_batch_max_size"],
      message: "expected 0 or at least send_batch_size",
    }),
  create: (config, { clock }) => batching(config, clock),
});

function withSize(config: z.infer<typeof schema>): BatchConfig {
  const max = config.send_batch_max_size > 0 ? config.send_batch_max_size : DEFAULT_SIZE;
  return { ...config, send_batch_size: config.send_batch_size ?? Math.min(DEFAULT_SIZE, max) };
}

function batching(config: BatchConfig, clock: Clock): Processor {
  return (source) =>
    new Observable<Delivery>((out) => {
      const groups = new Map<string, Group>();
      const groupOf = (delivery: Delivery): Group => {
        const key = metadataKey(delivery, config.metadata_keys);
        let group = groups.get(key);
        if (group === undefined) {
          if (config.metadata_cardinality_limit > 0 && groups.size >= config.metadata_cardinality_limit)
            throw tooMany();
          group = new Group(
            config,
            clock,
            (ready) => out.next(ready),
            () => groups.delete(key),
          );
          groups.set(key, group);
        }
        return group;
      };
      const upstream = source.subscribe({
        next(delivery) {
          try {
            groupOf(delivery).add(delivery);
          } catch (error) {
            delivery.refuse(error);
          }
        },
        error: (error) => out.error(error),
        complete() {
          for (const group of [...groups.values()]) group.flush();
          out.complete();
        },
      });
      return () => {
        upstream.unsubscribe();
        for (const group of groups.values()) group.discard();
      };
    });
}

/** Deliveries that wait to leave together. */
class Group {
  private readonly config: BatchConfig;
  private readonly clock: Clock;
  private readonly emit: (delivery: Delivery) => void;
  private readonly onEmpty: () => void;
  private waiting: Delivery[] = [];
  private count = 0;
  private bytes = 0;
  private cancelTimer: (() => void) | undefined;

  constructor(config: BatchConfig, clock: Clock, emit: (delivery: Delivery) => void, onEmpty: () => void) {
    this.config = config;
    this.clock = clock;
    this.emit = emit;
    this.onEmpty = onEmpty;
  }

  add(delivery: Delivery): void {
    const { byteLength, count } = delivery.batch;
    if (this.bytes + byteLength > MERGED_BYTES) this.send();
    this.waiting.push(delivery);
    this.count += count;
    this.bytes += byteLength;
    if (this.count >= this.config.send_batch_size || this.config.timeout === 0) this.flush();
    else this.cancelTimer ??= this.clock.after(this.config.timeout, () => this.flush());
  }

  flush(): void {
    this.onEmpty();
    this.send();
  }

  private send(): void {
    const { waiting } = this;
    this.discard();
    if (waiting.length > 0) this.sendTogether(waiting);
  }

  private sendTogether(deliveries: readonly Delivery[]): void {
    const merged = Batch.merge(deliveries.map((delivery) => delivery.batch));
    const pieces = this.cut(merged);
    if (pieces !== undefined) {
      for (const piece of Delivery.merge(deliveries, merged).split(pieces)) this.emit(piece);
    } else if (deliveries.length > 1) for (const delivery of deliveries) this.sendTogether([delivery]);
    else deliveries[0]!.refuse(multiplies(this.config.send_batch_max_size));
  }

  /** Undefined: the pieces would take many times what the batch does. */
  private cut(merged: Batch): readonly Batch[] | undefined {
    const records = this.config.send_batch_max_size;
    if (records === 0) return [merged];
    try {
      return splitBatch(merged, { records, total: Math.max(CUT_BYTES, 2 * merged.byteLength) });
    } catch (error) {
      if (error instanceof SplitOverflow) return undefined;
      throw error;
    }
  }

  /** Forgets what waits and stops the clock; whoever holds the debts settles them. */
  discard(): void {
    this.cancelTimer?.();
    this.cancelTimer = undefined;
    this.waiting = [];
    this.count = 0;
    this.bytes = 0;
  }
}

function metadataKey(delivery: Delivery, keys: readonly string[]): string {
  if (keys.length === 0) return "";
  return JSON.stringify(keys.map((key) => delivery.origin.metadata?.get(key.toLowerCase()) ?? null));
}

function tooMany(): Refusal {
  return new Refusal("throttled", "more combinations of metadata than metadata_cardinality_limit allows", {
    code: "SLUICE_METADATA_CARDINALITY",
    retryAfterMs: 1000,
  });
}

function multiplies(max: number): Refusal {
  const message = `too many records, or too much around them, to cut this request into pieces of at most ${max} records`;
  return new Refusal("permanent", message, { code: "SLUICE_SPLIT_OVERFLOW", category: "schema" });
}
