import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { noMetrics, silentLogger } from "#contract";
import { type Admin, AdminError } from "#contract/operations";
import { type ExporterControl, idleControl } from "../dead-letters/exporter-control.js";
import { createOperatorRecords } from "../records/operator-records.js";
import type { Keyring } from "../store/encryption/keyring.js";
import { adoptOldBallasts } from "../store/level/disk/ballast.js";
import { SharedDisk } from "../store/level/disk/shared-disk.js";
import { isStoreDirectory, storeExists } from "../store/level/open/summary-file.js";
import { LevelStore } from "../store/level-store.js";
import { isRecordsId } from "../store/record-log.js";
import { agentName, type PostgresStoreConfig, queueName } from "../store/remote/postgres-config.js";
import { listPostgresQueues, type PostgresQueue } from "../store/remote/postgres-queues.js";
import { PostgresTable } from "../store/remote/postgres-table.js";
import { RemoteStore } from "../store/remote/remote-store.js";
import { isStoreError, type LevelStoreSettings, type OpenReport, type QueueStore } from "../store/store.js";
import { type AdminServices, asAdminError, createAdmin } from "./admin.js";
import { describeLoss, describeRepair } from "./damage-reporter.js";
import {
  directoryNameOf,
  exporterOfDirectory,
  parseWorkerQueueId,
  workerOfDirectory,
  workerQueueId,
} from "./directory-name.js";

export interface OfflineQueues {
  readonly admin: Admin;
  /** Sentences about damage found while opening. They are reported nowhere else. */
  readonly damage: readonly string[];
  close(): Promise<void>;
}

/** The services for searching, changing and masking payloads. */
type OfflineServices = Pick<AdminServices, "language" | "mask">;

/** Stores that can be opened while no agent runs. */
interface OfflinePlace {
  readonly exporters: readonly string[];
  createStore(exporter: string): QueueStore;
  /** Whether a store with this id exists. The records of operators are stored next to the queues. */
  exists(id: string): Promise<boolean>;
  /** Tells people where the queue of an exporter is. */
  nameOf(exporter: string): string;
}

/**
 * Opens the queues of a directory while no agent runs. Replayed entries are sent when an agent runs again. The config
 * is not known here, so retention is not applied and there is no breaker. Rejects with an `AdminError`, and opens
 * nothing, if the directory has no queues, or if one of them is in use or cannot be opened. `keyring` decrypts
 * payloads.
 */
export async function openOfflineQueues(
  directory: string,
  services: OfflineServices,
  keyring?: Keyring,
): Promise<OfflineQueues> {
  const queues = new Map((await queuesIn(directory)).map(({ exporter, path }) => [exporter, path]));
  if (queues.size === 0) throw new AdminError("not_found", `there are no queues in ${directory}`);
  await adoptOldBallasts(directory);
  const disk = new SharedDisk(directory);
  const pathOf = (id: string) => queues.get(id) ?? join(directory, directoryNameOf(id));
  const place: OfflinePlace = {
    exporters: [...queues.keys()],
    createStore: (id) => new LevelStore(storeSettings(exporterOf(id), pathOf(id)), { keyring, disk }),
    exists: (id) => storeExists(pathOf(id)),
    nameOf: pathOf,
  };
  return openPlace(place, services);
}

/** Does the same for queues in PostgreSQL. */
export async function openOfflinePostgresQueues(
  config: PostgresStoreConfig,
  services: OfflineServices,
  keyring?: Keyring,
): Promise<OfflineQueues> {
  const agent = agentName(config);
  const all = await listPostgresQueues(config).catch((error: unknown) => {
    throw asAdminError(error);
  });
  const ids = new Set(all.filter((queue) => queue.agent === agent).map(({ id }) => id));
  const exporters = [...ids].filter((id) => !isRecordsId(exporterOf(id)));
  if (exporters.length === 0) throw noQueuesError(config, all);
  const place: OfflinePlace = {
    exporters,
    createStore(id) {
      const table = new PostgresTable(config, [queueName(config, id)], { lockTries: OFFLINE_LOCK_TRIES });
      return new RemoteStore({ exporter: exporterOf(id) }, table, { keyring });
    },
    exists: async (id) => ids.has(id),
    nameOf: (id) => `the queue ${queueName(config, id)}`,
  };
  return openPlace(place, services);
}

/** The server may still hold the lock of an agent that has just ended. */
const OFFLINE_LOCK_TRIES = 3;

function noQueuesError(config: PostgresStoreConfig, all: readonly PostgresQueue[]): AdminError {
  const others = [...new Set(all.map(({ agent }) => agent))];
  const hint =
    others.length === 0
      ? ""
      : `; there are queues of ${others.slice(0, 5).join(", ")}: name one with store: postgres: agent:`;
  return new AdminError(
    "not_found",
    `there are no queues of the agent ${agentName(config)} in PostgreSQL at ${config.endpoint}${hint}`,
  );
}

async function openPlace(place: OfflinePlace, { language, mask }: OfflineServices): Promise<OfflineQueues> {
  const controls = new Map<string, ExporterControl>();
  const damage: string[] = [];
  const records = createOperatorRecords({
    clock: keepAliveClock,
    logger: silentLogger,
    auditRetentionMs: 0,
    historyRetentionMs: 0,
    createStore: (id) => place.createStore(id),
    exists: (id) => place.exists(id),
  });
  const close = async () => {
    await records.close();
    for (const { store } of controls.values()) await store?.close();
  };
  try {
    for (const exporter of place.exporters) {
      const store = place.createStore(exporter);
      const report = await store.open().catch((error: unknown) => {
        throw asOpenError(error, place.nameOf(exporter));
      });
      controls.set(exporter, idleControl(exporter, store));
      damage.push(...damageMessages(exporter, report));
    }
  } catch (error) {
    await close();
    throw error;
  }
  const services = {
    clock: keepAliveClock,
    logger: silentLogger,
    metrics: noMetrics,
    running: { config: { generation: "offline" } },
  };
  return { admin: createAdmin(controls, { ...services, records, language, mask }), damage, close };
}

/** The exporter or journal of a queue, whichever worker has it. */
function exporterOf(id: string): string {
  return parseWorkerQueueId(id)?.id ?? id;
}

/**
 * Finds directories that are queues, by their name and content, also those of several workers. Other directories must
 * not be turned into queues.
 */
async function queuesIn(directory: string): Promise<{ exporter: string; path: string }[]> {
  const found: { exporter: string; path: string }[] = [];
  for (const entry of await readdir(directory, { withFileTypes: true })) {
    const exporter = entry.isDirectory() ? exporterOfDirectory(entry.name) : undefined;
    const worker = entry.isDirectory() ? workerOfDirectory(entry.name) : undefined;
    const path = join(directory, entry.name);
    if (worker !== undefined)
      for (const queue of await queuesIn(path))
        found.push({ ...queue, exporter: workerQueueId({ worker, id: queue.exporter }) });
    if (exporter !== undefined && !isRecordsId(exporter) && (await isStoreDirectory(path)))
      found.push({ exporter, path });
  }
  return found;
}

function damageMessages(exporter: string, report: OpenReport): string[] {
  const { lostEntries, corruptEntries, repairedEntries = 0, setAside } = report;
  const repair = repairedEntries === 0 ? [] : [`the queue of ${exporter}: ${describeRepair(repairedEntries)}`];
  if (lostEntries + corruptEntries === 0 && setAside === undefined) return repair;
  const kept = setAside === undefined ? "" : `; the files as they were are in ${setAside}`;
  return [
    ...repair,
    `the queue of ${exporter} was damaged and has been repaired: ${describeLoss(report)}, ${corruptEntries} could not be read${kept}`,
  ];
}

function storeSettings(exporter: string, directory: string): LevelStoreSettings {
  return { exporter, directory, durability: "fsync", intervalMs: 0 };
}

function asOpenError(error: unknown, place: string): unknown {
  const advice =
    "leave out --dir and --config to use the running agent (with --api URL if it is not at the default address), or stop it";
  const code = isStoreError(error) ? error.code : undefined;
  if (code === "wrong_key")
    return asAdminError(
      error,
      `${(error as Error).message}. Use --config FILE to name the config that contains the keys`,
    );
  return asAdminError(error, code === "locked" ? `${place} is in use by a running agent; ${advice}` : undefined);
}

const keepAliveClock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(ms: number, run: () => void) {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
};
