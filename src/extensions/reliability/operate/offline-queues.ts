import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { type Admin, AdminError, completeSettings, noMetrics, silentLogger } from "../../../runtime/kit.js";
import { createOperatorRecords, isRecordsId } from "../records/operator-records.js";
import type { Keyring } from "../store/encryption/keyring.js";
import { isStoreDirectory, isStoreThere } from "../store/level/open/summary-file.js";
import { LevelStore } from "../store/level-store.js";
import { isStoreError, type LevelStoreSettings, type OpenReport, type QueueStore } from "../store/store.js";
import { type AdminServices, asAdminError, createAdmin } from "./admin.js";
import { directoryNameOf, exporterOfDirectory } from "./directory-name.js";
import type { ExporterControl } from "./exporter-control.js";

export interface OfflineQueues {
  readonly admin: Admin;
  /** What opening has found damaged, in sentences: nobody else will hear of it. */
  readonly damage: readonly string[];
  close(): Promise<void>;
}

/**
 * The queues of a directory while no agent runs. What is replayed is sent when an agent runs again. The config is not
 * known here: retention is not looked at, and there is no breaker. Rejects with an `AdminError`, and opens nothing, when
 * the directory holds no queues, or one of them is in use or cannot be opened. `mask` is what payloads are masked with,
 * and `keyring` what they are encrypted with.
 */
export async function openOfflineQueues(
  directory: string,
  mask?: AdminServices["mask"],
  keyring?: Keyring,
): Promise<OfflineQueues> {
  const queues = await queuesIn(directory);
  if (queues.length === 0) throw new AdminError("not_found", `there are no queues in ${directory}`);
  const controls = new Map<string, ExporterControl>();
  const damage: string[] = [];
  const records = createOperatorRecords({
    ...{ clock: keepAliveClock, logger: silentLogger, auditRetentionMs: 0, historyRetentionMs: 0 },
    createStore: (id) => new LevelStore(storeSettings(id, join(directory, directoryNameOf(id))), { keyring }),
    exists: (id) => isStoreThere(join(directory, directoryNameOf(id))),
  });
  const close = async () => {
    await records.close();
    for (const { store } of controls.values()) await store?.close();
  };
  try {
    for (const { exporter, path } of queues) {
      const { store, report } = await openStore(exporter, path, keyring);
      controls.set(exporter, offlineControl(exporter, store));
      damage.push(...damageMessages(exporter, report));
    }
  } catch (error) {
    await close();
    throw error;
  }
  const services = { clock: keepAliveClock, logger: silentLogger, metrics: noMetrics, generation: "offline" };
  return { admin: createAdmin(controls, { ...services, records, mask }), damage, close };
}

/** Directories that are queues, by their name and what is in them: no other must become one. */
async function queuesIn(directory: string): Promise<{ exporter: string; path: string }[]> {
  const found: { exporter: string; path: string }[] = [];
  for (const entry of await readdir(directory, { withFileTypes: true })) {
    const exporter = entry.isDirectory() ? exporterOfDirectory(entry.name) : undefined;
    const path = join(directory, entry.name);
    if (exporter !== undefined && !isRecordsId(exporter) && (await isStoreDirectory(path)))
      found.push({ exporter, path });
  }
  return found;
}

function damageMessages(exporter: string, { lostEntries, corruptEntries, setAside }: OpenReport): string[] {
  if (lostEntries + corruptEntries === 0 && setAside === undefined) return [];
  const kept = setAside === undefined ? "" : `; the files as they were are in ${setAside}`;
  return [
    `the queue of ${exporter} was damaged and has been repaired: ${lostEntries} entries are lost, ${corruptEntries} could not be read${kept}`,
  ];
}

async function openStore(
  exporter: string,
  directory: string,
  keyring: Keyring | undefined,
): Promise<{ store: QueueStore; report: OpenReport }> {
  const store = new LevelStore(storeSettings(exporter, directory), { keyring });
  try {
    return { store, report: await store.open() };
  } catch (error) {
    throw asOpenError(error, directory);
  }
}

function storeSettings(exporter: string, directory: string): LevelStoreSettings {
  return { exporter, directory, durability: "fsync", intervalMs: 0 };
}

function asOpenError(error: unknown, directory: string): unknown {
  const advice =
    "leave out --dir to ask the agent that runs (--api URL if it is not at the default address), or stop it";
  const code = isStoreError(error) ? error.code : undefined;
  if (code === "wrong_key")
    return asAdminError(error, `${(error as Error).message}. Name the config that has the keys with --config FILE`);
  return asAdminError(error, code === "locked" ? `${directory} is in use by a running agent; ${advice}` : undefined);
}

/** Nothing is sent and nothing waits for its turn: replaying only writes. */
function offlineControl(id: string, store: QueueStore): ExporterControl {
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

const keepAliveClock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(ms: number, run: () => void) {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
};
