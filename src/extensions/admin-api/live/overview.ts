import type { Alert, Overview, StateCounts } from "#contract/api";
import type { BuiltInHost } from "#contract/built-in";
import type { ExporterStatus, ReceiverStatus, WorkerStatus } from "#contract/operations";

type HealthState = ExporterStatus["state"];

export function overviewOf(
  host: Pick<BuiltInHost, "admin" | "receivers" | "workers">,
  alerts: readonly Alert[],
): Overview {
  const exporters = host.admin?.exporters() ?? [];
  const receivers = host.receivers?.() ?? [];
  const workers = host.workers?.() ?? [];
  const oldest = exporters.reduce<ExporterStatus | undefined>(
    (best, each) => (ageOf(each) < (best === undefined ? Infinity : ageOf(best)) ? each : best),
    undefined,
  );
  const sum = (of: (each: ExporterStatus) => number) => exporters.reduce((total, each) => total + of(each), 0);
  return {
    state: worst([...exporters, ...receivers], workers),
    alerts,
    exporters: countStates(exporters, exporterReason),
    receivers: countStates(receivers, receiverReason),
    workers: { total: workers.length, ready: workers.filter(({ state }) => state === "ready").length },
    queue: {
      entries: sum(({ queue }) => queue.entries),
      items: sum(({ queue }) => queue.items),
      bytes: sum(({ queue }) => queue.bytes),
      ...(oldest !== undefined && { oldestAt: ageOf(oldest), oldestOf: oldest.id }),
    },
    deadLetters: {
      entries: sum(({ deadLetters }) => deadLetters.entries),
      items: sum(({ deadLetters }) => deadLetters.items),
    },
  };
}

/** When the oldest entry of its queue came in; infinite if there is none. */
function ageOf({ queue: { entries, oldestAt } }: ExporterStatus): number {
  return entries === 0 ? Infinity : (oldestAt ?? Infinity);
}

function worst(parts: readonly { readonly state: HealthState }[], workers: readonly WorkerStatus[]): HealthState {
  if (parts.some(({ state }) => state === "DOWN")) return "DOWN";
  const isDegraded = parts.some(({ state }) => state === "DEGRADED") || workers.some(({ state }) => state === "down");
  return isDegraded ? "DEGRADED" : "UP";
}

function countStates<T extends { readonly id: string; readonly state: HealthState }>(
  all: readonly T[],
  why: (each: T) => string,
): StateCounts {
  const count = (wanted: HealthState) => all.filter(({ state }) => state === wanted).length;
  const unwell = all.filter(({ state }) => state !== "UP");
  return {
    total: all.length,
    up: count("UP"),
    degraded: count("DEGRADED"),
    down: count("DOWN"),
    unwell: unwell.map((each) => ({ id: each.id, state: each.state, why: why(each) })),
  };
}

/** The first reason that explains the state; see `exporterStatus`. */
function exporterReason(status: ExporterStatus): string {
  const { paused, breaker, refused, queue, deadLetters, lastError, failureRate, recentCalls = 0 } = status;
  if (queue.writeError !== undefined) return `its queue cannot be written (${queue.writeError.code})`;
  if (refused !== undefined) return `the backend refuses all ${refused.signals.join(", ")} (${refused.class})`;
  const last = lastError === undefined ? "" : ` (${lastError.class})`;
  if (breaker.state !== "closed") return `its breaker is ${breaker.state.replace("_", " ")}${last}`;
  if (paused) return "it is paused";
  if (recentCalls > 0 && failureRate > 0) return `${Math.round(failureRate * 100)} % of its sends fail${last}`;
  const { entries } = deadLetters;
  if (queue.entries === 0 && entries > 0)
    return `it has ${entries.toLocaleString("en-US")} dead ${entries === 1 ? "letter" : "letters"}${last}`;
  return `a limit of its health settings is exceeded${last}`;
}

function receiverReason({ down, lag, lastError }: ReceiverStatus): string {
  if (down.length > 0) return `it cannot read ${down.slice(0, 3).join(", ")}${down.length > 3 ? " and others" : ""}`;
  if (lag !== undefined) return `${lag} messages wait at its source`;
  return lastError?.message ?? "its source cannot be read";
}
