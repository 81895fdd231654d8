import type { Clock, Logger } from "#contract";
import type { InsightBy, InsightReading, InsightSnapshot } from "#contract/insight";
import type { Admin, AgentInspection, EdgeWatcher, GraphEdge, ReceiverStatus } from "#contract/operations";
import type { AgentDescription } from "#host";
import type { RemoteCalls } from "../link/remote-calls.js";
import { type PassedBatches, receivedBatch } from "./edge-stream.js";
import { createMergedAdmin } from "./merged-admin.js";
import { SetByOperators } from "./set-by-operators.js";
import { type LinkedWorker, WorkerGroup } from "./worker-group.js";
import { WorkerReadings } from "./worker-readings.js";

/** The wait before a worker is watched that does not run. */
const WATCH_AGAIN_MS = 1000;

/** The facts that the parent knows without asking. */
interface FaceServices {
  /** All workers of the config, also those that do not run at the moment. */
  readonly workers: () => readonly LinkedWorker[];
  /** The agent by its config; undefined before the config is loaded. */
  readonly description: () => AgentDescription | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The view that operators have of an agent with several workers: one agent. These are members of the `Host` of its extensions. */
export interface Face {
  readonly admin: Admin;
  readonly inspection: AgentInspection | undefined;
  receivers(): readonly ReceiverStatus[];
  refresh(): Promise<void>;
  /** Asks all workers what their traffic consists of. */
  insight(by: InsightBy): Promise<InsightReading>;
  /** Tells a worker that was restarted what operators have set for exporters, such as a pause. */
  restore(calls: RemoteCalls): Promise<void>;
}

export function createFace({ workers, description, clock, logger }: FaceServices): Face {
  const group = new WorkerGroup(workers, clock);
  const readings = new WorkerReadings(group, clock);
  const settings = new SetByOperators(group);
  const exporters = () => readings.exporters();
  return {
    admin: createMergedAdmin({ group, clock, logger, settings, exporters }),
    get inspection() {
      const described = description();
      return described && inspectWorkers(described, group, readings, clock);
    },
    receivers: () => readings.receivers(),
    refresh: () => readings.refresh(),
    async insight(by) {
      const { answers, unavailable } = await group.ask<readonly InsightSnapshot[]>("insight", by);
      return { snapshots: answers.flatMap(({ value }) => value), unavailableWorkers: unavailable };
    },
    restore: (calls) => settings.restore(calls),
  };
}

function inspectWorkers(
  description: AgentDescription,
  group: WorkerGroup,
  readings: WorkerReadings,
  clock: Clock,
): AgentInspection {
  return {
    ...description,
    traffic: () => readings.traffic(),
    watch(edges, watcher, onMissed) {
      const follow = { group, clock, edges, watcher, onMissed };
      const ends = group.numbers.map((worker) => watchWorker(worker, follow));
      return () => {
        for (const end of ends) end();
      };
    },
  };
}

interface WatchedEdges {
  readonly group: WorkerGroup;
  readonly clock: Clock;
  readonly edges: readonly GraphEdge[];
  readonly watcher: EdgeWatcher;
  readonly onMissed: ((records: number) => void) | undefined;
}

/** A worker that ends is watched again when it was restarted. */
function watchWorker(worker: number, { group, clock, edges, watcher, onMissed }: WatchedEdges): () => void {
  const byId = new Map(edges.map((edge) => [edge.id, edge]));
  let stream: AsyncIterator<PassedBatches> | undefined;
  let hasEnded = false;
  let cancelRetry = () => {};
  const read = async () => {
    stream = group.stream<PassedBatches>(worker, "watchEdges", [...byId.keys()])[Symbol.asyncIterator]();
    for (let next = await stream.next(); next.done !== true && !hasEnded; next = await stream.next()) {
      for (const passed of next.value.batches) tell(watcher, receivedBatch(passed), byId.get(passed.edge));
      if (next.value.missed > 0) onMissed?.(next.value.missed);
    }
  };
  const follow = async () => {
    await read().catch(() => {});
    if (!hasEnded) cancelRetry = clock.after(WATCH_AGAIN_MS, follow);
  };
  void follow();
  return () => {
    hasEnded = true;
    cancelRetry();
    void stream?.return?.()?.catch(() => {});
  };
}

/** Errors are ignored, as in a pipeline. */
function tell(watcher: EdgeWatcher, batch: Parameters<EdgeWatcher>[0], edge: GraphEdge | undefined): void {
  try {
    if (edge !== undefined) watcher(batch, edge);
  } catch {}
}
