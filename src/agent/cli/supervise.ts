import type { EventEmitter } from "node:events";
import { config } from "rxjs";
import type { Clock, Logger } from "#contract";
import { firstPosition } from "#host/errors";
import { pause } from "#resilience";
import { EXIT } from "./terminal.js";

/** The part of an agent that is supervised. */
interface SupervisedAgent {
  start(): Promise<void>;
  /** Resolves when drained, or when the rest was refused after `timeoutMs`. */
  stop(timeoutMs: number): Promise<void>;
  abort(): void;
  /** Called on SIGHUP. */
  reload(): void;
}

/** The events of `process` that ask the agent to stop. */
type ProcessSignals = Pick<EventEmitter, "on" | "off">;

interface SuperviseOptions {
  readonly signals: ProcessSignals;
  readonly logger: Logger;
  readonly clock: Clock;
  /** Asked when the agent is to stop, because a reload may have changed it. */
  readonly shutdownTimeoutMs: () => number;
  /** The plugin whose code threw the error; undefined when it was other code, or is unknown. */
  readonly pluginOf?: (error: unknown) => string | undefined;
  /** Whether SIGHUP has come since the config was read. */
  readonly isReloadDue?: boolean;
}

/** Extra time beyond the drain's own limit, in milliseconds, for components to close. After that the agent hangs. */
const STOP_GRACE_MS = 10_000;
const KEEP_ALIVE_INTERVAL_MS = 24 * 60 * 60 * 1000;

/**
 * Runs the agent until it is asked to stop, and returns the exit code. The first SIGTERM or SIGINT drains (exit code
 * 0), a second one aborts (1). SIGHUP reloads the config, if need be after the start, and never ends the agent.
 * An uncaught exception is logged and drains (1), because the state of the process is unknown after it. An exception
 * that a plugin threw in one of its own callbacks is only logged with the plugin's name, and an unhandled rejection is
 * only logged: the agent continues. Rejects only if the start fails.
 */
export async function supervise(agent: SupervisedAgent, options: SuperviseOptions): Promise<number> {
  const { signals, logger, clock, pluginOf = () => undefined } = options;
  const stopRequested = deferred<void>();
  const aborted = deferred<number>();
  let stopping = false;
  let code: number = EXIT.ok;

  const onSignal = (signal: string) => {
    if (stopping) {
      logger.warn({ signal }, "second signal: stopping at once, undelivered data is refused");
      agent.abort();
      aborted.resolve(EXIT.failed);
    } else
      logger.info(
        { signal, shutdownTimeoutMs: options.shutdownTimeoutMs() },
        "stopping: refusing new data, delivering what is left",
      );
    stopping = true;
    stopRequested.resolve();
  };
  let started = false;
  let { isReloadDue = false } = options;
  const onHangup = () => {
    if (stopping) return logger.info({}, "SIGHUP is ignored while the agent is stopping");
    if (started) return agent.reload();
    logger.info({}, "SIGHUP: the config will be reloaded when the agent has started");
    isReloadDue = true;
  };
  const onException = (error: unknown) => {
    const plugin = pluginOf(error);
    if (plugin !== undefined) return logger.error({ err: error, plugin }, `uncaught exception in the plugin ${plugin}`);
    logger.error(
      { err: error, at: firstPosition(error) },
      "uncaught exception: this is a bug in Sluice or in a plugin; draining",
    );
    code = EXIT.failed;
    stopping = true;
    stopRequested.resolve();
  };
  const onRejection = (error: unknown) => {
    const plugin = pluginOf(error);
    if (plugin !== undefined) logger.error({ err: error, plugin }, `unhandled rejection in the plugin ${plugin}`);
    else
      logger.error(
        { err: error, at: firstPosition(error) },
        "unhandled rejection: this is a bug in Sluice or in a plugin",
      );
  };
  const listeners = [
    ["SIGTERM", onSignal],
    ["SIGINT", onSignal],
    ["SIGHUP", onHangup],
    ["uncaughtException", onException],
    ["unhandledRejection", onRejection],
  ] as const;
  for (const [event, listener] of listeners) signals.on(event, listener);
  // Keeps the process alive: an agent that only scrapes at intervals has no other active handle in between.
  const keepAlive = setInterval(() => {}, KEEP_ALIVE_INTERVAL_MS);

  const runUntilStopped = async () => {
    await agent.start();
    started = true;
    if (isReloadDue && !stopping) agent.reload();
    await stopRequested.promise;
    await agent.stop(options.shutdownTimeoutMs());
    return code;
  };
  const stopTimedOut = stopRequested.promise
    .then(() => pause(options.shutdownTimeoutMs() + STOP_GRACE_MS, clock))
    .then(() => {
      logger.error(
        { shutdownTimeoutMs: options.shutdownTimeoutMs() },
        "the agent did not stop in time: exiting anyway",
      );
      agent.abort();
      return EXIT.failed;
    });
  try {
    return await Promise.race([runUntilStopped(), aborted.promise, stopTimedOut]);
  } finally {
    clearInterval(keepAlive);
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

/** Logs errors that no RxJS subscriber handles. RxJS would throw them as uncaught exceptions. */
export function logStreamErrors(logger: Logger): void {
  config.onUnhandledError = (error) => {
    logger.error(
      { err: error, at: firstPosition(error) },
      "unhandled error in a stream: this is a bug in Sluice or in a plugin",
    );
  };
}
