import { readdir } from "node:fs/promises";
import { basename, join } from "node:path";
import type { Logger } from "#contract";
import type { OrphanedQueue } from "#contract/operations";
import { isNewerFormat } from "../store/format/entry.js";
import { isStoreDirectory, type StoreSummary, storesUnder } from "../store/level/open/summary-file.js";
import { isRecordsId } from "../store/record-log.js";
import { directoryNameOf, exporterOfDirectory, JOURNAL_PREFIX, parseWorkerQueueId } from "./directory-name.js";

/**
 * Warns of queues in a directory that are not empty and that this config does not use. An exporter that was renamed or
 * removed, or whose queue was turned off, leaves undelivered entries behind. `used` has the directories of the queues
 * in use. The directory decides, because the summary of a moved queue still names its former exporter. Never rejects.
 *
 * If a newer version has written to the directory, its other subdirectories cannot be judged. Then there is only a
 * warning about the version.
 */
export async function warnOfOrphanedQueues(root: string, used: ReadonlySet<string>, logger: Logger): Promise<void> {
  try {
    const stores = await storesUnder(root);
    const newer = stores.filter(({ summary }) => isNewerFormat(summary.format));
    if (newer.length > 0) return warnOfNewerVersion(root, newer, logger);
    for (const { directory, summary } of stores) {
      if (isOrphanedQueue(directory, summary, used)) warnOfQueue(directory, summary, logger);
    }
    const known = new Set([...used, ...stores.map(({ directory }) => directory)]);
    for (const directory of await storesWithoutSummary(root, known)) warnOfUnknown(directory, logger);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") logger.warn({ err: error }, "cannot look for other queues");
  }
}

/** The same queues, for operators. Directories that were moved are left out, because their owner is unknown. */
export async function orphanedQueuesUnder(root: string, used: ReadonlySet<string>): Promise<OrphanedQueue[]> {
  const stores = await storesUnder(root).catch(() => []);
  if (stores.some(({ summary }) => isNewerFormat(summary.format))) return [];
  const found = stores
    .filter(({ directory, summary }) => isOrphanedQueue(directory, summary, used))
    .map(({ directory, summary: { pending, failed } }) => ({ directory, pending, deadLetters: failed }));
  const known = new Set([...used, ...stores.map(({ directory }) => directory)]);
  const unknown = await storesWithoutSummary(root, known).catch(() => []);
  return [...found, ...unknown.map((directory) => ({ directory }))].flatMap(({ directory, ...counts }) => {
    const id = exporterOfDirectory(basename(directory));
    return id === undefined ? [] : [{ id, kind: kindOfQueue(id), place: directory, ...counts }];
  });
}

export function kindOfQueue(id: string): OrphanedQueue["kind"] {
  return (parseWorkerQueueId(id)?.id ?? id).startsWith(JOURNAL_PREFIX) ? "journal" : "exporter";
}

function warnOfNewerVersion(root: string, newer: readonly { directory: string }[], logger: Logger): void {
  const directories = newer.map(({ directory }) => directory);
  const advice = "run that version, or move the whole directory away and keep it; nothing was changed";
  logger.warn({ directories }, `a newer version has written queues in ${root}: ${advice}`);
}

/** The records of operators are never orphaned. */
function isOrphanedQueue(directory: string, { pending, failed }: StoreSummary, used: ReadonlySet<string>): boolean {
  return !used.has(directory) && !isRecordsId(exporterOfDirectory(basename(directory)) ?? "") && pending + failed > 0;
}

function warnOfQueue(
  directory: string,
  { exporter, pending, failed: deadLetters }: StoreSummary,
  logger: Logger,
): void {
  const id = exporterOfDirectory(basename(directory));
  const found = { exporter: id ?? exporter, directory, pending, deadLetters };
  const advice = id === undefined ? adviceOnMoved(exporter) : adviceOn(id);
  logger.warn(found, `no exporter sends the entries in the queue of ${id ?? exporter}: ${advice}`);
}

/** The summary file is missing or damaged, so the number of entries is not known before the queue is opened. */
function warnOfUnknown(directory: string, logger: Logger): void {
  const exporter = exporterOfDirectory(basename(directory))!;
  const message = `no exporter sends entries that may be in the queue of ${exporter}, whose summary file is missing`;
  logger.warn({ exporter, directory }, `${message}: ${adviceOn(exporter)}`);
}

async function storesWithoutSummary(root: string, known: ReadonlySet<string>): Promise<string[]> {
  const found: string[] = [];
  for (const entry of await readdir(root, { withFileTypes: true })) {
    const directory = join(root, entry.name);
    const id = exporterOfDirectory(entry.name);
    if (!entry.isDirectory() || known.has(directory) || id === undefined || isRecordsId(id)) continue;
    if (await isStoreDirectory(directory)) found.push(directory);
  }
  return found;
}

function adviceOn(queue: string): string {
  return `${orphanAdvice(queue)}, or move the directory and its .witness file elsewhere while no agent runs`;
}

/** Returns advice on how to get the entries of an orphaned queue sent. */
export function orphanAdvice(queue: string): string {
  const remove = `delete it with sluice queue delete ${queue}`;
  if (kindOfQueue(queue) === "journal") return `configure a ${journalOwner(queue)}, or ${remove}`;
  const adopt = `let another exporter send them with sluice queue adopt ${queue} --to EXPORTER`;
  return `configure an exporter of that name with a queue, ${adopt}, or ${remove}`;
}

function journalOwner(queue: string): string {
  const name = (parseWorkerQueueId(queue)?.id ?? queue).slice(JOURNAL_PREFIX.length);
  return /^(connector|processor)\//.test(name) ? name.replace("/", " ") : `pipeline ${name}`;
}

/** No exporter id encodes to this directory name, so the directory was moved or is a copy. */
function adviceOnMoved(exporter: string): string {
  const name = directoryNameOf(exporter);
  return `no exporter uses this directory. If it is not a copy, rename it and its .witness file to ${name} while no agent runs and nothing else has that name; keep copies elsewhere`;
}
