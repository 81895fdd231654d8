import {
  type AttemptError,
  type CompleteSettings,
  directOutlet,
  type Exporter,
  type Outlet,
  type OutletSettings,
} from "../../plugin.js";
import { createClassifier } from "./classify.js";
import type { ExporterControl } from "./control.js";
import { FailureShare } from "./failure-share.js";
import { statusOf } from "./status.js";

const FAILURE_WINDOW_MS = 60_000;

/**
 * The path without a queue: the client waits for the export and gets its outcome, so the retries are the client's.
 * There is a timeout, and nothing else: no breaker, no dead letters. Its control only looks on.
 */
export function directPath(
  own: OutletSettings,
  settings: CompleteSettings,
): { readonly outlet: Outlet; readonly control: ExporterControl } {
  const watched = new WatchedExporter(own);
  const outlet = directOutlet({ ...own, exporter: watched, settings: { timeout: settings.timeout } });
  const since = own.clock.now();
  const nothing = () => {};
  const control: ExporterControl = {
    id: own.id,
    settings,
    store: undefined,
    replayRate: settings.replay.rate,
    status: () =>
      statusOf({
        id: own.id,
        stats: undefined,
        scheduler: watched,
        breaker: { state: "closed", forced: false, since },
        replayRate: control.replayRate,
      }),
    pause: nothing,
    resume: nothing,
    forceBreaker: nothing,
    wake: nothing,
  };
  return { outlet, control };
}

/** An exporter that remembers how its calls went. */
class WatchedExporter implements Exporter {
  readonly paused = false;
  inFlight = 0;
  lastSentAt: number | undefined;
  lastError: { readonly at: number; readonly error: AttemptError } | undefined;
  private readonly own: OutletSettings;
  private readonly share: FailureShare;
  private readonly classify = createClassifier({ retry_on: [], permanent_on: [] });

  constructor(own: OutletSettings) {
    this.own = own;
    this.share = new FailureShare(FAILURE_WINDOW_MS, own.clock);
  }

  get failureRate(): number {
    return this.share.read().share;
  }

  async send(...call: Parameters<Exporter["send"]>): ReturnType<Exporter["send"]> {
    this.inFlight += 1;
    try {
      const partial = await this.own.exporter.send(...call);
      this.lastSentAt = this.own.clock.now();
      this.share.note(false);
      return partial;
    } catch (error) {
      this.lastError = { at: this.own.clock.now(), error: this.classify(error) };
      this.share.note(true);
      throw error;
    } finally {
      this.inFlight -= 1;
    }
  }
}
