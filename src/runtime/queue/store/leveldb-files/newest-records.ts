import { closeSync, fstatSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type BlockEntry, decodeBlock, KEY_SUFFIX_BYTES, TRAILER_BYTES, VALUE_TYPE } from "./block.js";
import { rescueEntries } from "./block-rescue.js";
import { dataFiles, LOG_FILE, TABLE_FILE } from "./data-files.js";
import { findBlocks, gapsBetween } from "./find-blocks.js";
import { checkLogs } from "./log-check.js";
import { inOrder } from "./log-mend.js";
import { readBytes, readTableLayout, type TableLayout } from "./table.js";
import { checkTable, type TableDamage } from "./table-check.js";
import { ifIntact } from "./varint-reader.js";
import type { LogChange } from "./write-batch.js";

/**
 * Returns all data in LevelDB's files, whether a MANIFEST names them or not: every key once, in order, with its latest
 * value, unless it was deleted later. Damaged data is left out. Tables are read block by block; logs and damaged tables
 * are read as a whole.
 */
export async function newestRecords(directory: string): Promise<Iterable<LogChange>> {
  return newestOf(merge(await sourcesIn(directory)));
}

function* newestOf(changes: Iterable<LogChange>): Generator<LogChange> {
  let lastKey: Buffer | undefined;
  for (const change of changes) {
    if (lastKey?.equals(change.key)) continue;
    lastKey = change.key;
    if (change.value !== undefined) yield change;
  }
}

/** Returns the changes of all logs, each once, in the order they were written. */
function changesInLogs(directory: string, names: readonly string[]): LogChange[] {
  return inOrder(
    checkLogs(directory, names).flatMap(({ changes }) => changes),
    0,
  );
}

/** Changes in LevelDB's order, which are read only when their turn comes. */
interface Source {
  readonly firstKey: Buffer;
  changes(): Iterable<LogChange>;
}

async function sourcesIn(directory: string): Promise<Source[]> {
  const names = await dataFiles(directory);
  const logs = changesInLogs(
    directory,
    names.filter((name) => LOG_FILE.test(name)),
  );
  const sources = sourceOf(sorted(logs));
  for (const name of names.filter((each) => TABLE_FILE.test(each))) {
    sources.push(...tableSource(join(directory, name)));
    // Yields to other work between two tables.
    await new Promise((resolve) => setImmediate(resolve));
  }
  return sources;
}

function tableSource(path: string): Source[] {
  const damage = checkTable(path, { size: undefined, lastSequence: undefined }, true);
  if (damage !== undefined) return sourceOf(sorted(rescueTable(readFileSync(path), damage)));
  for (const { key } of tableChanges(path)) return [{ firstKey: Buffer.from(key), changes: () => tableChanges(path) }];
  return [];
}

function sourceOf(changes: readonly LogChange[]): Source[] {
  const first = changes[0];
  return first === undefined ? [] : [{ firstKey: first.key, changes: () => changes }];
}

/** Yields the changes of an intact table. Blocks in an unknown format are left out. */
function* tableChanges(path: string): Generator<LogChange> {
  const file = openSync(path, "r");
  try {
    const layout = readTableLayout(file, fstatSync(file).size);
    for (const { offset, size } of layout?.blocks ?? [])
      yield* (ifIntact(() => decodeBlock(readBytes(file, offset, size + TRAILER_BYTES))) ?? []).map(changeOf);
  } finally {
    closeSync(file);
  }
}

function rescueTable(bytes: Buffer, { layout, blocks: damaged }: TableDamage): LogChange[] {
  const blocks: TableLayout["blocks"] = layout?.blocks ?? findBlocks(bytes);
  const gaps = layout === undefined ? gapsBetween(blocks, bytes.length) : [];
  const named = blocks.flatMap((block) => {
    const content = bytes.subarray(block.offset, block.offset + block.size + TRAILER_BYTES);
    const entries = damaged.has(block) ? undefined : ifIntact(() => decodeBlock(content));
    return entries ?? rescueEntries(content.subarray(0, block.size));
  });
  const between = gaps.flatMap(({ offset, size }) => rescueEntries(bytes.subarray(offset, offset + size)));
  return [...named, ...between].map(changeOf);
}

function changeOf([key, value]: BlockEntry): LogChange {
  const at = key.length - KEY_SUFFIX_BYTES;
  const sequence = key.readUIntLE(at + 1, 6);
  return { key: key.subarray(0, at), value: key[at] === VALUE_TYPE ? value : undefined, sequence };
}

function sorted(changes: readonly LogChange[]): LogChange[] {
  return changes.toSorted(compareChanges);
}

/** LevelDB's order: of equal keys, the later written one comes first. */
function compareChanges(a: LogChange, b: LogChange): number {
  return a.key.compare(b.key) || b.sequence - a.sequence;
}

/** Merges the sources. Few tables have keys in common, so only a few are read at a time. */
function* merge(sources: readonly Source[]): Generator<LogChange> {
  const waiting = sources.toSorted((a, b) => a.firstKey.compare(b.firstKey)).reverse();
  const active: { head: LogChange; readonly rest: Iterator<LogChange> }[] = [];
  for (;;) {
    let first = active[0];
    for (const each of active) if (first === undefined || compareChanges(each.head, first.head) < 0) first = each;
    const next = waiting.at(-1);
    if (next !== undefined && (first === undefined || next.firstKey.compare(first.head.key) <= 0)) {
      waiting.pop();
      const rest = next.changes()[Symbol.iterator]();
      active.push({ head: rest.next().value as LogChange, rest });
      continue;
    }
    if (first === undefined) return;
    yield first.head;
    const { value, done } = first.rest.next();
    if (done === true) active.splice(active.indexOf(first), 1);
    else first.head = value;
  }
}
