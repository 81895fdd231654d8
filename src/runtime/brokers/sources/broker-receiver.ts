import { z } from "zod";
import type { Receiver, ReceiverContext } from "#contract";
import { SIGNALS, type Signal } from "#otlp/signals";
import type { Dedup } from "../dedup/dedup.js";
import { createDedup } from "../dedup/dedup-config.js";

/** Reads one queue, stream or subscription. */
export interface BrokerSource {
  /** Must not wait for a broker that is not available: a source connects as soon as it can. */
  start(): void | Promise<void>;
  /** Resolves when every message has its outcome and the broker has been told, or does not respond. */
  stop(): Promise<void>;
}

/** The sources of a receiver, and the connection that they share. */
export interface OpenSources {
  readonly sources: readonly BrokerSource[];
  /** Closes the connection, after all sources have stopped. */
  close?(): Promise<void>;
}

/** The arguments from which sources are made. */
export interface SourceServices {
  /** The signals that a pipeline reads from this receiver. */
  readonly signals: readonly Signal[];
  readonly dedup: Dedup | undefined;
}

/**
 * A receiver of broker messages. It owns the order of start and stop: the dedup keys are read before the first message,
 * and closed after the last outcome. The component says only how its sources are opened.
 */
export class BrokerReceiver implements Receiver {
  private readonly config: { readonly dedup?: DedupConfig };
  private readonly context: ReceiverContext;
  private readonly open: (services: SourceServices) => OpenSources | Promise<OpenSources>;
  private dedup: Dedup | undefined;
  private opened: OpenSources | undefined;

  constructor(
    config: { readonly dedup?: DedupConfig },
    context: ReceiverContext,
    open: (services: SourceServices) => OpenSources | Promise<OpenSources>,
  ) {
    this.config = config;
    this.context = context;
    this.open = open;
  }

  async start(): Promise<void> {
    const { intakes } = this.context;
    const signals = SIGNALS.filter((signal) => intakes[signal] !== undefined);
    const dedup = createDedup(this.config.dedup, this.context);
    this.dedup = dedup;
    try {
      await dedup?.start();
      this.opened = await this.open({ signals, dedup });
      await Promise.all(this.opened.sources.map((source) => source.start()));
    } catch (error) {
      await this.stop();
      throw error;
    }
  }

  async stop(): Promise<void> {
    const { opened, dedup } = this;
    this.opened = undefined;
    this.dedup = undefined;
    await Promise.all(opened?.sources.map((source) => source.stop()) ?? []);
    await opened?.close?.();
    await dedup?.stop();
  }
}

type DedupConfig = Parameters<typeof createDedup>[0];

/** The key `max_lag` of receivers that know how many messages wait at their source. */
export const maxLagKey = z.number().int().min(0).default(10_000).meta({
  description: "The receiver is DEGRADED while more messages wait at a source. 0: not looked at.",
});
