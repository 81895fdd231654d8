import { mkdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { counted } from "../amounts.js";
import { newTag } from "../new-entry.js";
import { type OpenReport, StoreError } from "../store.js";
import type { EntryHead } from "./entry-value.js";
import { isDamage } from "./errors.js";
import { FORMAT } from "./frame.js";
import { inspect } from "./inspect.js";
import { META_KEY, refOf } from "./keys.js";
import { checkUnlocked, classicLevel, type LevelDb, type MakeLevelDb } from "./level-db.js";
import { salvage } from "./leveldb-salvage.js";
import { type Meta, newMeta, readMeta, writeMeta } from "./meta.js";
import { firstPending } from "./reader.js";
import { recount } from "./recount.js";
import { headIn, keysOf, valuesOf } from "./scan.js";
import { dataFiles, keepFiles, makeSetAside, moveFiles } from "./set-aside.js";
import { readWitness, type Testimony, witnessPath } from "./witness.js";

export interface OpeningOptions {
  readonly directory: string;
  readonly exporter: string;
  readonly makeDb: MakeLevelDb;
  readonly now: () => number;
  /** Something could not be read while the store was in use: repair it, whatever its files look like. */
  readonly suspect?: boolean;
}

export interface Opened {
  readonly db: LevelDb;
  readonly meta: Meta;
  readonly report: OpenReport;
}

/** Opens a store's directory, whatever state it is in; everything that a repair could destroy is kept aside first. */
export async function openDirectory(options: OpeningOptions): Promise<Opened> {
  const { directory } = options;
  await mkdir(directory, { recursive: true });
  const said = await readWitness(directory);
  if (typeof said !== "string") checkFormat(said.format, directory);
  await checkUnlocked(directory);
  const found = await inspect(directory);
  const aside = new Aside(options);
  if (said === "damaged") await aside.keepWitness();
  if (found.damaged.length > 0) await aside.keep(found.needsRepair ? await dataFiles(directory) : found.damaged);
  for (const name of found.unusable) await rm(join(directory, name));
  const mustRepair = found.needsRepair || (options.suspect === true && found.hasData);
  const { db, repaired } = await openDb(options, mustRepair, aside);
  try {
    for (const name of found.unusable) await putBack(db, join(aside.folder!, name));
    const damaged = repaired || found.damaged.length > 0;
    return { db, ...(await takeStock(db, options, said, found.hasData, damaged)).withAside(aside.folder) };
  } catch (error) {
    await db.close();
    if (repaired || !isDamage(error)) throw error;
    return openDirectory({ ...options, suspect: true });
  }
}

/** What was in a table that LevelDB cannot use; of keys that others have a value for, theirs counts. */
async function putBack(db: LevelDb, table: string): Promise<void> {
  const batch = db.batch();
  for (const [key, value] of salvage(await readFile(table))) {
    if (!META_KEY.equals(key) && (await db.get(key)) === undefined) batch.put(key, value);
  }
  await batch.write({ sync: true });
}

/** Keeps files aside, in a folder that is made when it is first needed. */
class Aside {
  folder: string | undefined;
  private readonly options: OpeningOptions;
  private readonly kept = new Set<string>();

  constructor(options: OpeningOptions) {
    this.options = options;
  }

  async keep(names: readonly string[]): Promise<void> {
    const fresh = names.filter((name) => !this.kept.has(name));
    for (const name of fresh) this.kept.add(name);
    await keepFiles(this.options.directory, fresh, await this.make());
  }

  async keepWitness(): Promise<void> {
    const { directory } = this.options;
    await keepFiles(
      join(directory, ".."),
      [witnessPath(directory).slice(join(directory, "..").length + 1)],
      await this.make(),
    );
  }

  async moveAll(): Promise<void> {
    await moveFiles(this.options.directory, await this.make());
  }

  private async make(): Promise<string> {
    this.folder ??= await makeSetAside(this.options.directory, this.options.now());
    return this.folder;
  }
}

async function openDb(
  options: OpeningOptions,
  mustRepair: boolean,
  aside: Aside,
): Promise<{ db: LevelDb; repaired: boolean }> {
  if (!mustRepair) {
    try {
      return { db: await opened(options), repaired: false };
    } catch (error) {
      if (!isDamage(error)) throw error;
    }
  }
  await aside.keep(await dataFiles(options.directory));
  try {
    await classicLevel().repair(options.directory);
    const db = await opened(options);
    await rm(join(options.directory, "lost"), { recursive: true, force: true });
    return { db, repaired: true };
  } catch (error) {
    if (!isDamage(error)) throw error;
    await aside.moveAll();
    return { db: await opened(options), repaired: true };
  }
}

async function opened({ makeDb, directory }: OpeningOptions): Promise<LevelDb> {
  const db = makeDb(directory);
  await db.open();
  return db;
}

/** Compares what is there with what should be there, and makes the counters true. */
async function takeStock(
  db: LevelDb,
  options: OpeningOptions,
  said: Testimony | "missing" | "damaged",
  hadData: boolean,
  damaged: boolean,
): Promise<Stock> {
  const testimony = typeof said === "string" ? undefined : said;
  const stored = await db.get(META_KEY);
  const written = readMeta(stored);
  if (written !== undefined) checkFormat(written.format, options.directory);
  const meta = written === undefined ? undefined : await countAdded(db, written);
  if (meta === undefined && !hadData && stored === undefined)
    return startEmpty(db, options.exporter, testimony, said === "missing");
  const checked = meta === undefined || damaged ? undefined : await plausible(db, meta);
  if (checked === undefined) return recounted(db, options.exporter, meta ?? written, testimony);
  return lostTail(db, checked, testimony);
}

/**
 * The counters with the first pending entry found, if there is something of each kind exactly when they say so; else
 * undefined: a power loss may have taken single commits.
 */
async function plausible(db: LevelDb, meta: Meta): Promise<Meta | undefined> {
  const any = async (range: "f" | "h", from: number) => !(await keysOf(db, range, from, undefined, 1).next()).done;
  if ((await any("f", meta.failedHead)) !== meta.failed.entries > 0) return undefined;
  if ((await any("h", 0)) !== meta.moved > 0) return undefined;
  const first = await firstPending(db, meta.head, meta);
  return (first !== undefined) === meta.pending.entries > 0 ? { ...meta, head: first ?? meta.last + 1 } : undefined;
}

/** The counters with the entries that came after they were written; undefined when one of those is damaged. */
async function countAdded(db: LevelDb, meta: Meta): Promise<Meta | undefined> {
  let { last, pending } = meta;
  for await (const page of valuesOf(db, "p", meta.last + 1))
    for (const [key, value] of page) {
      last = refOf(key);
      const head = headIn<EntryHead>("p", last, value);
      if (head === undefined) return undefined;
      pending = counted(pending, head.entry, 1);
    }
  return { ...meta, last, pending };
}

class Stock {
  readonly meta: Meta;
  private readonly found: Omit<OpenReport, "setAside">;

  constructor(meta: Meta, found: Omit<OpenReport, "setAside">) {
    this.meta = meta;
    this.found = found;
  }

  withAside(setAside: string | undefined): { meta: Meta; report: OpenReport } {
    return { meta: this.meta, report: { ...this.found, setAside } };
  }
}

async function startEmpty(db: LevelDb, exporter: string, said: Testimony | undefined, isNew: boolean): Promise<Stock> {
  const meta = {
    ...newMeta(exporter),
    last: said?.last ?? 0,
    head: (said?.last ?? 0) + 1,
    commits: said?.commits ?? 0,
  };
  await db.put(META_KEY, writeMeta(meta), { sync: true });
  return new Stock(meta, { isNew, lostEntries: liveIn(said), corruptEntries: 0 });
}

async function recounted(
  db: LevelDb,
  exporter: string,
  before: Meta | undefined,
  said: Testimony | undefined,
): Promise<Stock> {
  const { last, corrupt, ...amounts } = await recount(db);
  const known = Math.max(last, before?.last ?? 0, said?.last ?? 0);
  const meta: Meta = {
    ...(before ?? newMeta(exporter)),
    ...amounts,
    tag: newTag(),
    commits: Math.max(before?.commits ?? 0, said?.commits ?? 0) + 1,
    last: known,
    head: 1,
    failedHead: 1,
    corrupt: (before?.corrupt ?? 0) + corrupt,
  };
  await db.put(META_KEY, writeMeta(meta), { sync: true });
  const expected = isLater(said, before) ? liveIn(said) : liveOf(before);
  const lostEntries = Math.max(0, expected - liveOf(meta) - corrupt);
  return new Stock(meta, { isNew: false, lostEntries, corruptEntries: corrupt });
}

/** The end of the log may be missing without a trace in the files; the witness has seen it. */
async function lostTail(db: LevelDb, meta: Meta, said: Testimony | undefined): Promise<Stock> {
  const hasAll = said === undefined || (said.commits <= meta.commits && said.last <= meta.last);
  if (hasAll || said.tag !== meta.tag) return new Stock(meta, { isNew: false, lostEntries: 0, corruptEntries: 0 });
  const next = { ...meta, tag: newTag(), commits: said.commits, last: Math.max(meta.last, said.last) };
  await db.put(META_KEY, writeMeta(next), { sync: true });
  const lostEntries = Math.min(Math.max(0, said.last - meta.last), liveIn(said));
  return new Stock(next, { isNew: false, lostEntries, corruptEntries: 0 });
}

function isLater(said: Testimony | undefined, meta: Meta | undefined): boolean {
  if (said === undefined || meta === undefined) return said !== undefined;
  return said.commits > meta.commits || (said.commits === meta.commits && said.last > meta.last);
}

function liveIn(said: Testimony | undefined): number {
  return said === undefined ? 0 : said.pending + said.failed;
}

function liveOf(meta: Meta | undefined): number {
  return meta === undefined ? 0 : meta.pending.entries + meta.failed.entries;
}

function checkFormat(format: number, directory: string): void {
  if (format <= FORMAT) return;
  throw new StoreError(
    "newer_version",
    `the queue in ${directory} was written by a newer version (format ${format}, this one reads up to ${FORMAT}): run that version, or set another directory; nothing was changed`,
  );
}
