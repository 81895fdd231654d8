import type { Exporter, PartialRejection, SendOptions } from "#contract";
import { directOutlet } from "#contract/calls";
import type { Outlet, OutletSettings } from "#contract/operators";
import type { CompleteSettings } from "#contract/schema";
import type { Batch } from "#otlp";
import type { ExporterControl } from "./dead-letters/exporter-control.js";
import { exporterStatus } from "./operate/exporter-status.js";
import { createClassifier } from "./send/classify.js";
import { RecentCalls } from "./send/recent-calls.js";
import { createReplayPreparation } from "./send/replay-preparation.js";

/**
 * The path without a queue. The client waits for the export, gets its outcome, and retries itself if necessary. There
 * is only a timeout, no breaker and no dead letters. The control reports the status and changes nothing.
 */
export function directPath(
  outletSettings: OutletSettings,
  settings: CompleteSettings,
): { readonly outlet: Outlet; readonly control: ExporterControl } {
  const watched = new WatchedExporter(outletSettings);
  const outlet = directOutlet({ ...outletSettings, exporter: watched, settings: { timeout: settings.timeout } });
  const since = outletSettings.clock.now();
  const doNothing = () => {};
  const control: ExporterControl = {
    id: outletSettings.id,
    settings,
    store: undefined,
    replayRate: settings.replay.rate,
    prepare: createReplayPreparation(outletSettings.prepareReplay, outletSettings.pipelines),
    pipelines: outletSettings.pipelines,
    accept: (delivery, pipeline) => outlet.accept(delivery, pipeline),
    status: () =>
      exporterStatus({
        id: outletSettings.id,
        health: settings.health,
        now: outletSettings.clock.now(),
        stats: undefined,
        paused: false,
        inFlight: watched.inFlight,
        recent: watched.recent,
        breaker: { state: "closed", forced: false, since },
        replayRate: control.replayRate,
      }),
    pause: doNothing,
    resume: doNothing,
    retryNow: doNothing,
    forceBreaker: doNothing,
    onReplayed: doNothing,
  };
  return { outlet, control };
}

/** Wraps an exporter and records the results of its calls. */
class WatchedExporter implements Exporter {
  inFlight = 0;
  readonly recent: RecentCalls;
  private readonly exporter: Exporter;
  private readonly classify = createClassifier({ retry_on: [], permanent_on: [] });

  constructor({ exporter, clock }: OutletSettings) {
    this.exporter = exporter;
    this.recent = new RecentCalls(clock);
  }

  get metadataKeys(): readonly string[] {
    return this.exporter.metadataKeys ?? [];
  }

  send(batch: Batch, abort: AbortSignal, options?: SendOptions): Promise<PartialRejection | undefined> {
    this.inFlight += 1;
    try {
      return Promise.resolve(this.exporter.send(batch, abort, options)).then(this.onSent, this.onFailed);
    } catch (error) {
      return this.onFailed(error);
    }
  }

  private readonly onSent = (partial: PartialRejection | undefined) => {
    this.inFlight -= 1;
    this.recent.sent();
    return partial;
  };

  private readonly onFailed = (error: unknown): Promise<never> => {
    this.inFlight -= 1;
    this.recent.failed(this.classify(error));
    return Promise.reject(error);
  };
}
