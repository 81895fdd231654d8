import { type CompleteSettings, directOutlet, type Exporter, type Outlet, type OutletSettings } from "../../plugin.js";
import { createClassifier } from "./classify.js";
import type { ExporterControl } from "./control.js";
import { RecentCalls } from "./recent-calls.js";
import { statusOf } from "./status.js";

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
        paused: false,
        inFlight: watched.inFlight,
        recent: watched.recent,
        breaker: { state: "closed", forced: false, since },
        replayRate: control.replayRate,
      }),
    pause: nothing,
    resume: nothing,
    retryNow: nothing,
    forceBreaker: nothing,
    wake: nothing,
  };
  return { outlet, control };
}

/** An exporter that remembers how its calls went. */
class WatchedExporter implements Exporter {
  inFlight = 0;
  readonly recent: RecentCalls;
  private readonly exporter: Exporter;
  private readonly classify = createClassifier({ retry_on: [], permanent_on: [] });

  constructor({ exporter, clock }: OutletSettings) {
    this.exporter = exporter;
    this.recent = new RecentCalls(clock);
  }

  async send(...call: Parameters<Exporter["send"]>): ReturnType<Exporter["send"]> {
    this.inFlight += 1;
    try {
      const partial = await this.exporter.send(...call);
      this.recent.sent();
      return partial;
    } catch (error) {
      this.recent.failed(this.classify(error));
      throw error;
    } finally {
      this.inFlight -= 1;
    }
  }
}
