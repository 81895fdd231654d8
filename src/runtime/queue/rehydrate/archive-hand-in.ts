import { type Clock, Debt, Delivery, type Outcome } from "#contract";
import { AdminError } from "#contract/operations";
import type { Batch } from "#otlp";
import type { Signal } from "#otlp/signals";
import { type Controls, controlOf } from "../dead-letters/dead-letters.js";
import { type ExporterControl, hasQueue } from "../dead-letters/exporter-control.js";
import { hasRoom } from "../dead-letters/forwarder.js";
import { waitUntil } from "../dead-letters/replay.js";

/** How long to wait for room in the queue, and after a refusal. */
const ROOM_CHECK_MS = 50;
const FIRST_WAIT_MS = 100;
const MAX_WAIT_MS = 5000;

interface HandInServices {
  readonly clock: Clock;
  readonly controls: Controls;
  /** Throws if nothing may be handed in any more. */
  readonly requireReady: () => void;
}

/** Records that an exporter has taken, or why it refuses them for good. */
export interface HandedIn {
  readonly sent: number;
  readonly problem?: string | undefined;
}

/**
 * Hands batches to an exporter, as the last part of a pipeline does. A batch has been taken when the exporter's queue
 * has stored it; without a queue, when it was sent. A batch with the same key is taken once, also after a crash.
 */
export class ArchiveHandIn {
  private readonly to: string;
  private readonly transport: string;
  private readonly services: HandInServices;

  constructor(to: string, transport: string, services: HandInServices) {
    this.to = to;
    this.transport = transport;
    this.services = services;
  }

  /** The first pipeline of this signal that ends in the exporter; undefined if there is none. */
  pipelineOf(signal: Signal): string | undefined {
    return pipelineOf(this.control, signal);
  }

  /** Waits while the exporter has no room. Rejects if the exporter is gone, or after the abort. */
  async hand(batch: Batch, key: string, abort: AbortSignal): Promise<HandedIn> {
    const { clock, requireReady } = this.services;
    for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(2 * waitMs, MAX_WAIT_MS)) {
      abort.throwIfAborted();
      requireReady();
      const { control } = this;
      const outcome = await this.tryOnce(control, batch, key, abort);
      if (outcome.ok) return { sent: batch.count - outcome.rejected, ...(outcome.rejected > 0 && partly(outcome)) };
      const { kind, message, retryAfterMs = 0 } = outcome.refusal;
      if (kind === "permanent") return { sent: 0, problem: message };
      await waitUntil(clock.monotonic() + Math.max(waitMs, Math.min(retryAfterMs, MAX_WAIT_MS)), abort, clock);
    }
  }

  private get control(): ExporterControl {
    return controlOf(this.services.controls, this.to);
  }

  private async tryOnce(control: ExporterControl, batch: Batch, key: string, abort: AbortSignal): Promise<Outcome> {
    await this.waitForRoom(control, abort);
    const pipeline = pipelineOf(control, batch.signal);
    if (pipeline === undefined || control.accept === undefined)
      throw new AdminError("conflict", `${this.to} is in no pipeline for ${batch.signal} any more`);
    const origin = { receiver: "rehydrate", transport: this.transport, key, isOnce: true, isNew: true };
    return new Promise((resolve) => control.accept!(new Delivery(batch, origin, new Debt(resolve)), pipeline));
  }

  /** Archived records use at most half of the queue, so that its own pipelines have room. */
  private async waitForRoom(control: ExporterControl, abort: AbortSignal): Promise<void> {
    const { clock, requireReady } = this.services;
    while (hasQueue(control) && !hasRoom(control)) {
      await waitUntil(clock.monotonic() + ROOM_CHECK_MS, abort, clock);
      abort.throwIfAborted();
      requireReady();
    }
  }
}

/** The first pipeline of this signal that ends in the exporter. */
function pipelineOf({ pipelines = [] }: ExporterControl, signal: Signal): string | undefined {
  return pipelines.find((each) => each.signal === signal)?.id;
}

function partly({ rejected, message }: Extract<Outcome, { ok: true }>): Pick<HandedIn, "problem"> {
  return { problem: `the backend rejected ${rejected} records: ${message}` };
}
