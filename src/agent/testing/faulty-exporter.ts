import type { Clock, ExporterFactory } from "#contract";
import { defineExporter } from "#contract";
import { Refusal, type RefusalKind } from "#contract/errors";
import type { Batch } from "#otlp";
import { type AnyRecordView, readRecords } from "#otlp/views";
import { type PlainRecord, plainRecords } from "./plain-records.js";

/** How a backend misbehaves. All settings can be changed while it is in use. */
export interface Faults {
  /** Of every `of` sends, the first `times` fail. */
  fails?: { readonly times: number; readonly of: number; readonly kind?: RefusalKind } | undefined;
  /** Batches with such a record are refused permanently. */
  poison?: ((record: AnyRecordView) => boolean) | undefined;
  /** Delay of an answer on the pipeline's clock, in milliseconds. */
  delayMs?: number | undefined;
  /** Never answers, until the send is aborted. */
  hangs?: boolean | undefined;
}

/** An exporter that fails as configured, and a record of its sends. */
export type FaultyExporter = ExporterFactory & {
  readonly faults: Faults;
  /** Number of sends so far, including failed ones. */
  readonly sends: number;
  /** The accepted batches, in order. */
  readonly exported: readonly Batch[];
  /** The records of `exported`, as plain objects. */
  records(): PlainRecord[];
};

/**
 * An exporter for a config's `plugins`, with a backend that can be flaky, picky or slow. Its default type is `faulty`.
 */
export function faultyExporter({
  type = "faulty",
  ...faults
}: Faults & { readonly type?: string } = {}): FaultyExporter {
  const exported: Batch[] = [];
  let sends = 0;
  const factory = defineExporter({
    type,
    summary: "Fails as a test tells it to.",
    create: (_config, { clock }) => ({
      async send(batch, abort) {
        const number = sends++;
        if (faults.hangs) await aborted(abort);
        if (faults.delayMs) await later(clock, faults.delayMs, abort);
        refuse(batch, number, faults);
        exported.push(batch);
        return undefined;
      },
    }),
  });
  return {
    ...factory,
    faults,
    exported,
    records: () => exported.flatMap(plainRecords),
    get sends() {
      return sends;
    },
  };
}

function refuse(batch: Batch, number: number, { fails, poison }: Faults): void {
  if (fails !== undefined && number % fails.of < fails.times)
    throw new Refusal(fails.kind ?? "transient", `send ${number + 1} fails as told`, { status: "FAULTY" });
  if (poison === undefined) return;
  readRecords(batch, (record) => {
    if (poison(record))
      throw new Refusal("permanent", "a record is poison", { status: "POISON", category: "business" });
  });
}

function aborted(abort: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    if (abort.aborted) return reject(abort.reason);
    abort.addEventListener("abort", () => reject(abort.reason), { once: true });
  });
}

function later(clock: Clock, ms: number, abort: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const cancel = clock.after(ms, resolve);
    abort.addEventListener("abort", () => {
      cancel();
      reject(abort.reason);
    });
  });
}
