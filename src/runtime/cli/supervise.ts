import type { Clock } from "../contract/clock.js";
import type { Logger } from "../contract/observability.js";
import { EXIT } from "./terminal.js";

/** What is started, drained and, if need be, cut short. */
export interface Supervised {
  start(): Promise<void>;
  /** Resolves when drained, or when what is left was refused after `timeoutMs`. */
  stop(timeoutMs: number): Promise<void>;
  abort(): void;
}

/** The part of `process` that says when to stop. */
export interface Signals {
  on(event: string, listener: (...args: never[]) => void): unknown;
  off(event: string, listener: (...args: never[]) => void): unknown;
}

export interface SuperviseOptions {
  readonly signals: Signals;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly shutdownTimeoutMs: number;
}

/** Beyond the drain's own limit: components get a moment to close. After that something hangs. */
const HANG_MS = 10_000;

/**
 * Runs until told to stop, and gives the exit code. The first SIGTERM or SIGINT drains (0); a second one aborts (1). An
 * uncaught exception is logged and drains (1): after it, nothing in the process can be trusted for long. An unhandled
 * rejection is logged. Rejects only when the start does.
 */
export async function supervise(agent: Supervised, options: SuperviseOptions): Promise<number> {
  const { signals, logger, clock, shutdownTimeoutMs } = options;
  const asked = deferred<void>();
  const aborted = deferred<number>();
  let stopping = false;
  let code: number = EXIT.ok;

  const onSignal = (signal: string) => {
    if (stopping) {
      logger.warn({ signal }, "second signal: stopping at once, what is not delivered is refused");
      agent.abort();
      aborted.resolve(EXIT.failed);
    } else logger.info({ signal, shutdownTimeoutMs }, "draining: nothing new is taken, what was taken is delivered");
    stopping = true;
    asked.resolve();
  };
  const onException = (error: unknown) => {
    logger.error({ err: error }, "uncaught exception: this is a bug in Sluice or in a plugin; draining");
    code = EXIT.failed;
    stopping = true;
    asked.resolve();
  };
  const onRejection = (error: unknown) => {
    logger.error({ err: error }, "unhandled rejection: this is a bug in Sluice or in a plugin");
  };
  const listeners = [
    ["SIGTERM", onSignal],
    ["SIGINT", onSignal],
    ["uncaughtException", onException],
    ["unhandledRejection", onRejection],
  ] as const;
  for (const [event, listener] of listeners) signals.on(event, listener);

  const life = async () => {
    await agent.start();
    await asked.promise;
    await agent.stop(shutdownTimeoutMs);
    return code;
  };
  const hung = asked.promise
    .then(() => after(clock, shutdownTimeoutMs + HANG_MS))
    .then(() => {
      logger.error({ shutdownTimeoutMs }, "the agent did not stop in time: giving up");
      agent.abort();
      return EXIT.failed;
    });
  try {
    return await Promise.race([life(), aborted.promise, hung]);
  } finally {
    for (const [event, listener] of listeners) signals.off(event, listener);
  }
}

function deferred<T>() {
  let resolve!: (value: T) => void;
  const promise = new Promise<T>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

function after(clock: Clock, ms: number): Promise<void> {
  return new Promise((resolve) => void clock.after(ms, resolve));
}
