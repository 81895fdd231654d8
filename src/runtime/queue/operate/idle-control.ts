import { completeSettings } from "#contract/schema";
import type { QueueControl } from "../dead-letters/exporter-control.js";
import type { QueueStore } from "../store/store.js";

/** A control that sends nothing and schedules nothing: a replay only writes. */
export function idleControl(id: string, store: QueueStore): QueueControl {
  return {
    id,
    settings: completeSettings({ dead_letter: { retention: 0 }, replay: { batch_size: 500 } }),
    store,
    replayRate: Number.MAX_SAFE_INTEGER,
    status() {
      const { pending, failed, oldestPendingAt, oldestFailedAt } = store.stats;
      return {
        id,
        state: "DOWN",
        paused: true,
        breaker: { state: "closed", forced: false, since: 0 },
        queue: { enabled: true, ...pending, inFlight: 0, oldestAt: oldestPendingAt },
        deadLetters: { ...failed, oldestAt: oldestFailedAt },
        lastSentAt: undefined,
        lastError: undefined,
        failureRate: 0,
        failureTrend: "steady",
        replayRate: 0,
      };
    },
    pause() {},
    resume() {},
    retryNow() {},
    forceBreaker() {},
    onReplayed() {},
  };
}
