import { type Entry, type EntryEdit, revisionOf } from "#contract/operations";
import type { Batch } from "#otlp";
import type { RecordLog } from "../../store/record-log.js";

/** A payload that was replaced by an edit. */
export interface OriginalRecord {
  readonly at: number;
  readonly entryId: string;
  readonly exporter: string;
  /** Revision of the payload; 0 is the original. */
  readonly revision: number;
}

/** The maximum number of edits listed on an entry. The payloads of older ones are still kept. */
const MAX_EDITS = 20;

/**
 * Payloads replaced by edits. A payload is on disk before its entry is changed, so a crash in between leaves an
 * unchanged entry and an unused copy. Originals are never sent: they are records, not entries of a queue.
 */
export class Originals {
  private readonly log: RecordLog<OriginalRecord>;

  constructor(log: RecordLog<OriginalRecord>) {
    this.log = log;
  }

  /** Resolves when the current payload is on disk. To be called before an edit. */
  async keep(entry: Entry, batch: Batch, at: number): Promise<void> {
    const revision = revisionOf(entry);
    const id = recordId(entry.id, revision);
    if ((await this.log.find(id)) !== undefined) return;
    await this.log.add({ at, entryId: entry.id, exporter: entry.exporter, revision }, { id, batch });
  }

  /** Returns the payload of an entry at a revision; undefined if it is not kept. */
  payload(id: string, revision: number): Promise<Batch | undefined> {
    return this.log.payload(recordId(id, revision));
  }

  /** Removes the originals of entries that are removed permanently. */
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
