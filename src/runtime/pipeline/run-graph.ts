import { finalize, merge } from "rxjs";
import type { Logger } from "#contract";
import type { DeliverySource, EndedStream } from "./stream-ends.js";

/** The running streams of a graph. */
export interface RunningGraph {
  /**
   * Completes all sources. Processors flush what they hold, journals and outlets drain; resolves when all of that is
   * done.
   */
  drain(): Promise<void>;
  /** Unsubscribes: everything still inside is refused. */
  abort(): void;
}

/**
 * Runs the streams of a graph. This is the only subscribe of an agent; `sources` are all entry points of deliveries.
 */
export function runGraph(
  streams: readonly EndedStream[],
  sources: readonly DeliverySource[],
  logger: Logger,
): RunningGraph {
  let resolveEnded = () => {};
  const ended = new Promise<void>((resolve) => {
    resolveEnded = resolve;
  });
  const subscription = merge(...streams)
    .pipe(finalize(() => resolveEnded()))
    .subscribe({ error: (error) => logger.error({ err: error }, "the pipelines ended on an error") });
  return {
    drain() {
      for (const source of sources) source.complete();
      return ended;
    },
    abort: () => subscription.unsubscribe(),
  };
}
