import { createHash } from "node:crypto";
import type { SendOptions } from "#contract";
import { type Entry, revisionOf } from "#contract/operations";
import type { Batch } from "#otlp";
import { batchFromJson, batchToJsonBytes } from "#otlp/json";
import { KEEP, type RecordVisitor, RecordWalk } from "#otlp/views";

type Numbering = NonNullable<Entry["numbering"]>;
type NamedEntry = NonNullable<SendOptions["entries"]>[number];

/*
 * The records of an entry are numbered when it comes, and a record that was never a message gets its key from that
 * number. When an entry is divided or copied, its records keep their numbers, so that a record has the same key in
 * whatever entry it is sent, and no other record gets that key.
 */

/** The numbers of these records of an entry, given by their indexes. */
export function numberingOf(entry: Entry, indexes: readonly number[]): Numbering {
  const { id, runs } = entry.numbering ?? { id: entry.id };
  return { id, runs: runsOf(runs === undefined ? indexes : numbersIn(runs, indexes)) };
}

/**
 * The numbers after an edit that adds or removes records. Unchanged records keep theirs. All others get numbers that no
 * record had: with that of a record that was delivered, they would be taken for it.
 */
export function numberingAfterEdit(entry: Entry, before: Batch, after: Batch): Numbering {
  const { id, runs = [[0, before.count]] } = entry.numbering ?? { id: entry.id };
  const texts = recordTexts(before);
  const known = numbersIn(runs, [...texts.keys()]);
  const free = new Map<string, number[]>();
  for (const [i, text] of texts.entries()) {
    const numbers = free.get(text) ?? [];
    numbers.push(known[i]!);
    free.set(text, numbers);
  }
  const first = firstNumberOfEdit(entry);
  return { id, runs: runsOf(recordTexts(after).map((text, i) => free.get(text)?.shift() ?? first + i)) };
}

/** Parts of one entry share their numbers and may be edited, too. */
function firstNumberOfEdit(entry: Entry): number {
  const hash = createHash("sha256")
    .update(`${entry.id} ${revisionOf(entry)}`)
    .digest();
  return (1 + hash.readUInt32BE()) * MAX_RECORDS;
}

const MAX_RECORDS = 2 ** 20;

/** The bytes of each record, encoded as those of an edit are. */
function recordTexts(batch: Batch): string[] {
  const texts: string[] = [];
  const visit: RecordVisitor["visit"] = ({ bytes }, start, end) => {
    texts.push(Buffer.from(bytes.subarray(start, end)).toString("latin1"));
    return KEEP;
  };
  new RecordWalk(batchFromJson(batch.signal, batchToJsonBytes(batch))).run({ visit });
  return texts;
}

function runsOf(numbers: readonly number[]): NonNullable<Numbering["runs"]> {
  const found: [number, number][] = [];
  for (const number of numbers) {
    const last = found.at(-1);
    if (last !== undefined && last[0] + last[1] === number) last[1] += 1;
    else found.push([number, 1]);
  }
  return found;
}

/** The numbers of all records of an entry, which a copy of it keeps. */
export function wholeNumbering({ id, numbering = { id } }: Entry): Numbering {
  return numbering;
}

/** The entry in which the records were numbered. */
export function namedEntry(entry: Entry): NamedEntry {
  return { ...wholeNumbering(entry), items: entry.items };
}

function numbersIn(runs: NonNullable<Numbering["runs"]>, indexes: readonly number[]): number[] {
  const all = runs.flatMap(([first, count]) => Array.from({ length: count }, (_, i) => first + i));
  return indexes.map((index) => all[index]!);
}
