import type { ComponentSpec } from "#config/resolve";
import type { Problem } from "#config/text";
import type { Clock, Logger, PlannedComponent } from "#contract";
import { errorMessage, isStartError, StartError } from "#contract/errors";
import { waitAtMost } from "#contract/time";
import { thrownAt } from "./errors/source-position.js";

/** Time for a component to stop, and for a receiver to answer the requests refused at the last moment. */
export const STOP_GRACE_MS = 2000;
/** Time for a part of a reload to end if its successor waits for it. Then what it does is aborted. */
export const MAX_HELD_MS = 5000;
/** A start may take long; after this time the log says which component is still starting. */
const SLOW_START_MS = 10_000;
/** How long a component of a reload may take to start, because requests may wait for it and the next reload does. */
const MAX_START_MS = 30_000;

/** A component that runs, and how it is stopped. */
export interface StartedComponent {
  readonly id: string;
  readonly stop: () => Promise<void>;
}

type PlannedPlace = Pick<PlannedComponent<unknown>, "path">;

/** Starts and stops components one by one. */
export class ComponentRunner {
  private readonly clock: Clock;
  private readonly logger: Logger;
  private areStartsLimited = false;

  constructor(clock: Clock, logger: Logger) {
    this.clock = clock;
    this.logger = logger;
  }

  /** From now on a component that does not start in time fails. While the agent itself starts, it can only wait. */
  limitStarts(): void {
    this.areStartsLimited = true;
  }

  /**
   * Logs the name of a component that takes long to start. If starts are limited and there is a `stop`, rejects after
   * 30 s, and stops the component if it starts later.
   */
  async start<T>(spec: PlannedPlace, start: () => Promise<T>, stop?: (started: T) => Promise<void>): Promise<T> {
    const { path } = spec;
    const warnSlowStart = () => this.logger.warn({ component: path }, `${path} has not started after 10 s`);
    const cancel = this.clock.after(SLOW_START_MS, warnSlowStart);
    try {
      if (!this.areStartsLimited || stop === undefined) return await start();
      return await this.startInTime(start(), (started) => this.stopAll([{ id: path, stop: () => stop(started) }]));
    } catch (error) {
      throw new ComponentStartError(spec, error);
    } finally {
      cancel();
    }
  }

  private async startInTime<T>(starting: Promise<T>, stop: (started: T) => Promise<void>): Promise<T> {
    const result = await waitAtMost(
      MAX_START_MS,
      starting.then((started) => ({ started })),
      this.clock,
    );
    if (result !== undefined) return result.started;
    starting.then(stop, () => {});
    throw new StartError(`it has not started after ${MAX_START_MS / 1000} s`);
  }

  /** Never rejects. */
  async stopAll(components: Iterable<StartedComponent>): Promise<void> {
    await Promise.all(
      [...components].map(async ({ id, stop }) => {
        try {
          await stop();
        } catch (error) {
          this.logger.error({ err: error, component: id }, "the component failed to stop");
        }
      }),
    );
  }

  /** Stops components, and does not wait for one that hangs. */
  stopInTime(components: Iterable<StartedComponent>, ms = STOP_GRACE_MS): Promise<void> {
    return this.waitFor(this.stopAll(components), ms);
  }

  /** Waits for the work. After `ms` calls `onTimeout` and waits a little longer, but not forever. */
  async waitFor(work: Promise<void>, ms: number, onTimeout?: () => void): Promise<void> {
    const isLate = await waitAtMost(ms, work, this.clock, () => true);
    if (isLate !== true || onTimeout === undefined) return;
    onTimeout();
    await waitAtMost(STOP_GRACE_MS, work, this.clock);
  }
}

/** A component's failure to start, with its place in the config. */
export class ComponentStartError extends Error {
  readonly problem: Problem;

  constructor(component: PlannedPlace, cause: unknown) {
    const position = isStartError(cause) ? undefined : thrownAt(cause);
    const message = `${errorMessage(cause)}${position === undefined ? "" : ` (${position})`}`;
    super(message, { cause });
    const path = isStartError(cause) ? cause.path : [];
    const spec = component as Pick<ComponentSpec<unknown>, "path" | "placeOf">; // the graph was built from these specs
    this.problem = {
      severity: "error",
      code: "start_failed",
      place: spec.placeOf(path),
      path: [spec.path, ...path].join("."),
      message,
    };
  }
}
