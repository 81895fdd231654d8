import { join } from "node:path";
import { makePrivate, makePrivateDirectory } from "#system";
import { queueIdIn } from "../../encryption/queue-id.js";
import { checkUsedKeys, noteActiveKey, retireKeys } from "../../encryption/used-keys.js";
import { ENCRYPTED_RANGES, keyCheckOf, queueIdOf, type ValueCipher } from "../../encryption/value-cipher.js";
import { checkFormat, type Meta } from "../../format/entry.js";
import { RANGES, refOf } from "../../format/layout.js";
import { type Inspection, inspectDirectory } from "../../leveldb-files/inspect-directory.js";
import { mendLogs } from "../../leveldb-files/log-mend.js";
import { mendTable } from "../../leveldb-files/table-mend.js";
import type { EntryRef, OpenReport } from "../../store.js";
import { isDamageError } from "../errors.js";
import {
  checkUnlocked,
  type EncryptedDb,
  encryptedDb,
  type LevelDb,
  type MakeLevelDb,
  openLevelDb,
} from "../level-db.js";
import { scanKeys, scanRows } from "../reader.js";
import { evidenceOf } from "./log-evidence.js";
import { clearMark, greaterLoss, NO_LOSS, readMark, readRepair, setMark, setRepair } from "./marks.js";
import { finishSwap, rebuildDatabase } from "./rebuild.js";
import { type ReconciledStore, reconcileStore, type StoreEvidence } from "./reconcile-store.js";
import { SetAsideFolder } from "./set-aside-folder.js";
import { readSummaries } from "./summary-file.js";

export interface OpenDirectoryOptions {
  readonly directory: string;
  readonly exporter: string;
  readonly makeDb: MakeLevelDb;
  readonly cipher: ValueCipher;
  readonly now: () => number;
  /**
   * Whether data could not be read while the store was in use. Then every byte is checked, and the store is rebuilt if
   * that finds nothing.
   */
  readonly suspectDamage?: boolean;
}

export interface OpenedDirectory {
  readonly db: EncryptedDb;
  readonly meta: Meta;
  readonly report: OpenReport;
}

/**
 * Opens a store's directory, whatever its state. LevelDB only sees files that have been checked. Damage in logs and
 * tables is repaired in place; where that is impossible, the database is rebuilt. All data that a repair would lose is
 * set aside first. Interrupted repairs are completed, and an opening that crashed the process is not repeated forever.
 */
export async function openDirectory(options: OpenDirectoryOptions): Promise<OpenedDirectory> {
  const { directory } = options;
  await makePrivateDirectory(directory);
  const summaries = await readSummaries(directory);
  checkFormat(summaries.format, directory);
  const { keyring } = options.cipher;
  const usedKeys = await checkUsedKeys(directory, keyring);
  await checkUnlocked(directory);
  await noteActiveKey(directory, usedKeys, keyring);
  const setAside = await SetAsideFolder.of(directory, options.now);
  for (const path of summaries.damagedPaths) await setAside.saveSummaryFile(path);
  const unfinished = await readRepair(directory);
  await finishSwap(directory, setAside);
  const failedOpenings = Number((await readMark(directory, "OPENING")) ?? 0);
  const state = await inspectAndRepair(options, failedOpenings, setAside);
  const evidence: StoreEvidence = {
    ...state,
    summary: summaries.newest,
    isNew: summaries.newest === undefined && summaries.damagedPaths.length === 0,
    isDamaged: state.isDamaged || unfinished !== undefined,
    now: options.now(),
    noteLoss: (loss) => setRepair(directory, { folder: setAside.path, ...greaterLoss(loss, unfinished) }),
  };
  // A full disk must not keep a store from being opened and drained.
  await setMark(directory, "OPENING", String(failedOpenings + 1)).catch(() => {});
  const opened = await openAndReconcile(options, evidence).catch((error) => ({ error }));
  if ("error" in opened) await clearMark(directory, "OPENING");
  if ("error" in opened) return openSuspectingDamage(options, opened.error);
  const { db, reconciled } = opened;
  const { meta, refs, report } = reconciled;
  if (refs !== undefined) await setAside.noteRecovered(meta.store, intervalsOf(refs));
  await clearMark(directory, "OPENING");
  await clearMark(directory, "REPAIRING");
  if (setAside.path !== undefined) await makePrivate(setAside.path);
  return { db, meta, report: { ...report, ...greaterLoss(report, unfinished), setAside: setAside.path } };
}

/** Tries once more, and only once, with LevelDB's error as evidence of damage. */
async function openSuspectingDamage(options: OpenDirectoryOptions, error: unknown): Promise<OpenedDirectory> {
  if (options.suspectDamage === true || !isDamageError(error)) throw error;
  return openDirectory({ ...options, suspectDamage: true });
}

/** Inspects and repairs the files. Returns the evidence known at that point. */
async function inspectAndRepair(
  options: OpenDirectoryOptions,
  failedOpenings: number,
  setAside: SetAsideFolder,
): Promise<Pick<StoreEvidence, "hadData" | "isDamaged" | "logs" | "damagedKeys">> {
  const { directory, suspectDamage = false } = options;
  const found = await inspectDirectory(directory, suspectDamage || failedOpenings > 0);
  const inspection = { ...found, mustRebuild: found.mustRebuild || failedOpenings >= MAX_FAILED_OPENINGS };
  const { hasData, isLogMissing, damagedTables } = inspection;
  const logs = evidenceOf(inspection.logs, isLogMissing);
  const repaired = await repair(options, inspection, setAside);
  return {
    hadData: hasData,
    isDamaged: repaired !== "nothing" || isLogMissing || logs.hasGaps,
    logs,
    damagedKeys: repaired === "rebuilt" ? undefined : damagedTables.flatMap(({ keys }) => keys),
  };
}

/**
 * A process may be killed while it opens an intact store. After two times in a row, LevelDB is more likely the cause.
 */
const MAX_FAILED_OPENINGS = 2;

/** Changes the files so that LevelDB can open them. */
async function repair(
  { directory, makeDb, suspectDamage = false }: OpenDirectoryOptions,
  { hasData, mustRebuild, logs, tableSequence, damagedTables }: Inspection,
  setAside: SetAsideFolder,
): Promise<"nothing" | "mended" | "rebuilt"> {
  const damagedLogs = logs.filter(({ isIntact }) => !isIntact);
  const damaged = [...damagedLogs, ...damagedTables].map(({ name }) => name);
  if (!hasData || (damaged.length === 0 && !mustRebuild && !suspectDamage)) return "nothing";
  const begun = await readRepair(directory);
  await setRepair(directory, { folder: await setAside.reservePath(), ...greaterLoss(NO_LOSS, begun) });
  let isMended = damaged.length > 0 && !mustRebuild;
  if (isMended) {
    // All logs are saved, because conflicting sequence numbers are moved to the next log.
    await setAside.save([...(damagedLogs.length > 0 ? logs : []), ...damagedTables].map(({ name }) => name));
    await mendLogs(directory, logs, tableSequence);
  }
  for (const { name, damage, expected } of isMended ? damagedTables : [])
    isMended = (await mendTable(join(directory, name), damage, expected)) && isMended;
  if (isMended) return "mended";
  await rebuildDatabase(directory, makeDb, setAside);
  return "rebuilt";
}

async function openAndReconcile(
  { makeDb, directory, exporter, cipher }: OpenDirectoryOptions,
  evidence: StoreEvidence,
): Promise<{ db: EncryptedDb; reconciled: ReconciledStore }> {
  const stored = makeDb(directory);
  await openLevelDb(stored);
  try {
    const keysOfNotes = await noteKeys(stored);
    if (cipher.keyring.all.length > 0) cipher.bindTo(await queueIdIn(directory, () => queueIdsOn(stored)));
    if (cipher.keyring.refusesPlain) await checkAllBound(stored, cipher);
    const db = encryptedDb(stored, cipher);
    const reconciled = await reconcileStore(db, exporter, evidence);
    const { last } = reconciled.meta;
    await retireKeys(directory, cipher.keyring, last, await lowestRef(db), (check) => keysOfNotes.has(check));
    return { db, reconciled };
  } catch (error) {
    await stored.close();
    throw error;
  }
}

/** The first entry in any state. */
async function lowestRef(db: LevelDb): Promise<EntryRef> {
  for await (const [first] of scanKeys(db, RANGES.entry, 0, undefined, 1)) return refOf(first!);
  return Number.POSITIVE_INFINITY;
}

/** Checks every value before any is used. No other process can write to the store while it is open. */
async function checkAllBound(stored: LevelDb, cipher: ValueCipher): Promise<void> {
  for (const range of ENCRYPTED_RANGES)
    for await (const rows of scanRows(stored, range, 0)) for (const [, value] of rows) cipher.checkNotPlain(value);
}

/** Returns the ids of queues that values were encrypted for. The search ends when there are two. */
async function queueIdsOn(stored: LevelDb): Promise<readonly Buffer[]> {
  const found = new Map<string, Buffer>();
  for (const range of [RANGES.entry, RANGES.note])
    for await (const rows of scanRows(stored, range, 0))
      for (const [, value] of rows) {
        const id = queueIdOf(value);
        if (id !== undefined) found.set(id.toString("hex"), id);
        if (found.size > 1) return [...found.values()];
      }
  return [...found.values()];
}

/** Returns the checks of the keys that notes are encrypted with. */
async function noteKeys(stored: LevelDb): Promise<ReadonlySet<string>> {
  const found = new Set<string>();
  for await (const rows of scanRows(stored, RANGES.note, 0))
    for (const [, value] of rows) found.add(keyCheckOf(value) ?? "");
  return found;
}

/** Returns the first and last of consecutive refs. */
function intervalsOf(refs: Iterable<EntryRef>): [EntryRef, EntryRef][] {
  const intervals: [EntryRef, EntryRef][] = [];
  for (const ref of [...refs].sort((a, b) => a - b)) {
    const last = intervals.at(-1);
    if (last !== undefined && last[1] === ref - 1) last[1] = ref;
    else intervals.push([ref, ref]);
  }
  return intervals;
}
