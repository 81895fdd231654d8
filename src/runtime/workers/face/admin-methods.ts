import { type Clock, systemClock } from "#contract";
import { OPERATIONS, type OperationName } from "#contract/api";
import type { BuiltInHost } from "#contract/built-in";
import type { InsightBy, InsightSnapshot } from "#contract/insight";
import {
  type Admin,
  AdminError,
  type AdoptOptions,
  type AgentInspection,
  type DeadLetterQuery,
  type ExporterStatus,
  type Operator,
  type ReceiverStatus,
  type RevealOptions,
  type Selection,
  type Traffic,
} from "#contract/operations";
import type { RehydrationRequest, RehydrationStarter } from "#contract/rehydration";
import type { RemoteMethods } from "../link/remote-calls.js";
import { streamOfEdges } from "./edge-stream.js";
import { PushedStream } from "./pushed-stream.js";

/** An action to be recorded. */
export type SentAction = Parameters<NonNullable<Admin["noteAction"]>>[0];

/** The state of a worker at one moment, as it tells it. */
export interface WorkerReading {
  /** Tells one run of the worker from the next, whose counts begin anew. */
  readonly startedAt: number | undefined;
  readonly exporters: readonly ExporterStatus[];
  readonly receivers: readonly ReceiverStatus[];
  readonly traffic: Traffic | undefined;
}

/** Where an entry is in its life, as far as its worker decides what may be done with it. */
export type EntryPlace = "dead_letter" | "deleted" | "queued" | "delivered";

/** Methods that are called here as the parent was called. Lines are sent in chunks instead. */
const FORWARDED = (Object.keys(OPERATIONS) as OperationName[]).filter((name) => !("lines" in OPERATIONS[name]));

/** Lines are sent together up to these limits. */
const MAX_LINES = 64;
const MAX_LINES_LENGTH = 1024 * 1024;

/**
 * The methods by which a worker tells the parent about its queues and components. Nothing is recorded in the audit, except by
 * `noteAction`: the parent records each action once, whichever workers it concerns.
 */
export function adminMethods(
  admin: () => Admin | undefined,
  inspection: () => AgentInspection | undefined,
  receivers: () => readonly ReceiverStatus[],
  insight: () => BuiltInHost["insight"] = () => undefined,
  clock: Clock = systemClock,
): RemoteMethods {
  const queues = (): Admin => {
    const own = admin();
    if (own === undefined) throw new AdminError("unavailable", "a worker is starting, or has no queues");
    return own;
  };
  const orphans = () => queues().orphans;
  const required = <T>(part: T | undefined): T => {
    if (part === undefined) throw new AdminError("unavailable", "this worker has no queues");
    return part;
  };
  const rehydrations = () => required(queues().rehydrations);
  const transfers = () => required(queues().transfers);
  const forward =
    (name: OperationName) =>
    (...args: never[]): unknown =>
      (queues()[name] as (...args: never[]) => unknown)(...args);
  return {
    ...Object.fromEntries(FORWARDED.map((name) => [name, forward(name)])),
    ping: () => void queues(),
    reading: (): WorkerReading => ({
      startedAt: inspection()?.agent.startedAt,
      exporters: admin()?.exporters() ?? [],
      receivers: receivers(),
      traffic: inspection()?.traffic(),
    }),
    entryPlaces: (ids: readonly string[]) => entryPlaces(queues(), ids),
    replayEnded: (id: string) => replayEnded(queues(), id),
    replayChanges: (id: string) => replayChanges(queues(), id),
    exportDeadLetters: (query: DeadLetterQuery, options: RevealOptions | undefined) =>
      inChunks(queues().exportDeadLetters(query, options)),
    importDeadLetters: (lines: readonly string[]) => queues().importDeadLetters(iterate(lines)),
    transferLines: (selection: Selection) => inChunks(transfers().lines(selection)),
    discardDeadLetters: (ids: readonly string[]) => transfers().discard(ids),
    noteAction: (operator: Operator, noted: SentAction) => queues().actingAs(operator).noteAction?.(noted),
    orphans: async () => (await orphans()?.list()) ?? [],
    adoptOrphan: (id: string, options: AdoptOptions) => orphans()?.adopt(id, options),
    orphanAdoption: (id: string) => orphans()?.adoption(id),
    deleteOrphan: (id: string) => orphans()?.delete(id),
    insight: async (by: InsightBy): Promise<readonly InsightSnapshot[]> => (await insight()?.(by))?.snapshots ?? [],
    startRehydration: (request: RehydrationRequest, starter: RehydrationStarter) =>
      rehydrations().start(request, starter),
    rehydrations: (limit: number | undefined) => rehydrations().list(limit),
    rehydration: (id: string) => rehydrations().get(id),
    cancelRehydration: (id: string) => rehydrations().cancel(id),
    watchEdges: (edges: readonly string[]) => streamOfEdges(inspection(), edges, clock),
  };
}

/** Only ids that are known here are in the result. */
async function entryPlaces(admin: Admin, ids: readonly string[]): Promise<ReadonlyMap<string, EntryPlace>> {
  const places = new Map<string, EntryPlace>();
  for (const id of new Set(ids)) {
    const entry = await admin.deadLetter(id);
    if (entry === undefined) continue;
    const { state, deletedAt } = entry;
    if (state === "failed") places.set(id, deletedAt === undefined ? "dead_letter" : "deleted");
    else places.set(id, state === "delivered" ? "delivered" : "queued");
  }
  return places;
}

/** Yields when the replay has changed, once for all changes since the last one. */
function replayChanges(admin: Admin, id: string): PushedStream<true> {
  let hasChanged = false;
  const stream: PushedStream<true> = new PushedStream({
    take() {
      const taken = hasChanged ? true : undefined;
      hasChanged = false;
      return taken;
    },
    onEnd: () => stop(),
  });
  const stop = admin.watchReplay(id, () => {
    hasChanged = true;
    stream.wake();
  });
  return stream;
}

/** Resolves with the replay when it has put back all its entries; with undefined if there is no such replay. */
async function replayEnded(admin: Admin, id: string) {
  const isRunning = (state: string) => state === "running" || state === "paused";
  const changes = replayChanges(admin, id);
  try {
    for (;;) {
      const job = await admin.replayJob(id);
      if (job === undefined || !isRunning(job.state)) return job;
      await changes.next();
    }
  } finally {
    await changes.return();
  }
}

async function* inChunks(lines: AsyncIterable<string>): AsyncGenerator<readonly string[]> {
  let chunk: string[] = [];
  let length = 0;
  for await (const line of lines) {
    chunk.push(line);
    length += line.length;
    if (chunk.length < MAX_LINES && length < MAX_LINES_LENGTH) continue;
    yield chunk;
    chunk = [];
    length = 0;
  }
  if (chunk.length > 0) yield chunk;
}

async function* iterate(lines: readonly string[]): AsyncGenerator<string> {
  yield* lines;
}
