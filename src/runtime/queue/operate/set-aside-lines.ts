import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ERROR_CODES } from "#contract/errors";
import { AdminError, type AttemptError, type Entry } from "#contract/operations";
import { excerptOf } from "../dead-letters/batch-excerpt.js";
import { signatureOf } from "../dead-letters/dead-letter-writer.js";
import { writeTransferLine } from "../dead-letters/transfer/transfer-line.js";
import type { Keyring } from "../store/encryption/keyring.js";
import { makeLevelDb } from "../store/level/level-db.js";
import { setMark } from "../store/level/open/marks.js";
import { copyRecords } from "../store/level/open/rebuild.js";
import { RECOVERED_FILE } from "../store/level/open/set-aside-folder.js";
import { LevelStore } from "../store/level-store.js";
import { dataFiles } from "../store/leveldb-files/data-files.js";
import { type EntryRef, isEntryGone, type QueueStore, type StoredEntry } from "../store/store.js";

/**
 * Yields the entries of a set-aside folder as lines for an import: those that can be read and that the repaired queue
 * did not have. Pending entries become dead letters, so that a person decides about them, because it is not known
 * whether they were delivered before the damage. Rejects with an `AdminError` if the folder has no files of a queue.
 * The files are not changed.
 */
export async function* setAsideLines(folder: string, keyring?: Keyring): AsyncGenerator<string> {
  await checkFolder(folder);
  const isRecovered = await readRecovered(folder);
  const temporary = await mkdtemp(join(tmpdir(), "sluice-set-aside-"));
  const directory = join(temporary, "queue");
  const settings = { exporter: "", directory, durability: "process", intervalMs: 0 } as const;
  const store = new LevelStore(settings, { keyring });
  try {
    await copyRecords(folder, directory, makeLevelDb);
    // The stored counters are outdated. With this mark, everything is counted again.
    await setMark(directory, "REPAIRING");
    await store.open();
    for await (const { ref, entry } of entriesOf(store)) if (!isRecovered(ref)) yield* lineOf(store, ref, entry);
  } finally {
    await store.close();
    await rm(temporary, { recursive: true, force: true });
  }
}

async function checkFolder(folder: string): Promise<void> {
  const names = await readdir(folder).catch(() => undefined);
  if (names === undefined) throw new AdminError("not_found", `there is no folder ${folder}`);
  if ((await dataFiles(folder)).length > 0) return;
  throw new AdminError(
    "not_found",
    `there are no files of a queue in ${folder}; name one of the folders in .set-aside`,
  );
}

/** Returns whether the repaired queue had an entry; always false if that was not recorded. */
async function readRecovered(folder: string): Promise<(ref: EntryRef) => boolean> {
  const text = await readFile(join(folder, RECOVERED_FILE), "utf8").catch(() => '{"refs":[]}');
  const { refs } = JSON.parse(text) as { refs: [EntryRef, EntryRef][] };
  return (ref) => refs.some(([first, last]) => first <= ref && ref <= last);
}

async function* entriesOf(store: QueueStore): AsyncGenerator<StoredEntry> {
  const pages = [
    (after: EntryRef | undefined) => store.pending(after, PAGE),
    (after: EntryRef | undefined) => store.failed(after, PAGE, "oldest"),
  ];
  for (const next of pages)
    for (let page = await next(undefined); page.length > 0; page = await next(page.at(-1)!.ref)) yield* page;
}

const PAGE = 100;

/** Leaves out an entry that cannot be read. It was counted when the queue was repaired. */
async function* lineOf(store: QueueStore, ref: EntryRef, entry: Entry): AsyncGenerator<string> {
  try {
    const batch = await store.payload(ref);
    const signature = signatureOf(entry.exporter, SET_ASIDE);
    const failure = entry.failure ?? {
      at: Date.now(),
      reason: "imported" as const,
      rule: "import" as const,
      category: "integration",
      error: SET_ASIDE,
      signature,
      ...excerptOf(batch),
    };
    yield writeTransferLine({ entry: { ...entry, state: "failed", failure }, batch });
  } catch (error) {
    if (!isEntryGone(error)) throw error;
  }
}

const SET_ASIDE: AttemptError = {
  kind: "permanent",
  class: ERROR_CODES.SLUICE_SET_ASIDE,
  message: "it was pending in a queue whose files were damaged, and was imported from the set-aside files",
  code: ERROR_CODES.SLUICE_SET_ASIDE,
};
