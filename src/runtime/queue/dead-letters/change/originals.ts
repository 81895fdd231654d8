import { type Entry, type EntryEdit, revisionOf } from "#contract/operations";
import type { Batch } from "#otlp";
import type { RecordLog } from "../../records/record-log.js";

/** A payload that was replaced by an edit. */
export interface OriginalRecord {
  readonly at: number;
  readonly entryId: string;
  readonly exporter: string;
  /** That of the payload: 0 is as it came. */
  readonly revision: number;
}

/** What an entry tells of its edits; the payloads of older ones are still kept. */
const MAX_EDITS = 20;

/**
 * The payloads that edits have replaced. One is on disk before its entry is changed, so a crash between the two leaves an
 * entry that was not changed and a copy that nobody asks for. They are never sent: they are records, no entries of a queue.
 */
export class Originals {
  private readonly log: RecordLog<OriginalRecord>;

  constructor(log: RecordLog<OriginalRecord>) {
    this.log = log;
  }

  /** Resolves when the payload, as it is before the next edit, is on disk. */
  async keep(entry: Entry, batch: Batch, at: number): Promise<void> {
    const revision = revisionOf(entry);
    const id = recordId(entry.id, revision);
    if ((await this.log.find(id)) !== undefined) return;
    await this.log.add({ at, entryId: entry.id, exporter: entry.exporter, revision }, { id, batch });
  }

  /** The payload of an entry as it was after so many edits; undefined when it is not kept. */
  payload(id: string, revision: number): Promise<Batch | undefined> {
    return this.log.payload(recordId(id, revision));
  }

  /** Removes those of entries that are removed for good. */
  async erase(entries: readonly Entry[]): Promise<void> {
    const ids = entries.flatMap(({ id, edits = [] }) =>
      Array.from({ length: edits.at(-1)?.revision ?? 0 }, (_, revision) => recordId(id, revision)),
    );
    if (ids.length > 0) await this.log.erase(ids);
  }
}

/** The entry with one more edit. */
export function withEdit(entry: Entry, edit: Omit<EntryEdit, "revision">): Entry {
  const next = { revision: revisionOf(entry) + 1, ...edit };
  return { ...entry, edits: [...(entry.edits ?? []), next].slice(-MAX_EDITS) };
}

function recordId(id: string, revision: number): string {
  return `original-${revision}-of-${id}`;
}
