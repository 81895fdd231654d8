import type { Batch } from "../batch.js";
import { dataPointMessage } from "../bytes/messages.js";
import { Attributes } from "../views/attributes.js";
import { DataPointView } from "../views/data-point-view.js";
import { FrameOwners } from "../views/frame-owners.js";
import { LogRecordView } from "../views/log-record-view.js";
import { recordAttributesTag } from "../views/record-reader.js";
import type { RecordOwners } from "../views/record-view.js";
import { DROP, KEEP, type RecordVisitor, RecordWalk, type Verdict } from "../views/record-walk.js";
import { SpanView } from "../views/span-view.js";

/** A record of any signal: a log record, a span or a data point. */
export type AnyRecordView = LogRecordView | SpanView | DataPointView;

/** The answer of the function passed to `editRecords`: "drop" removes the record, anything else keeps it. */
// biome-ignore lint/suspicious/noConfusingVoidType: a function that answers nothing keeps the record
export type RecordVerdict = "drop" | "keep" | undefined | void;

/**
 * Shows every record to `edit` and returns the batch with its changes, or the same batch if there were none. If `edit`
 * throws, the batch stays as it was.
 *
 * @example
 * const withoutPasswords = (batch: Batch) =>
 *   editRecords(batch, (record) => {
 *     record.attributes.delete("password");
 *   });
 */
export function editRecords(batch: Batch, edit: (record: AnyRecordView) => RecordVerdict): Batch {
  return new RecordWalk(batch).run(new EditingVisitor(edit));
}

/**
 * Does the same for a function that changes only the attributes of each record. All records are shown as one object, so
 * that none is made for each. Records for which `isMeant` is false are left as they are; it must not change them.
 */
export function editRecordAttributes(
  batch: Batch,
  edit: (attributes: Attributes) => void,
  isMeant?: (record: AnyRecordView) => boolean,
): Batch {
  const walk = new RecordWalk(batch);
  const views = new RecordViews(walk);
  const attributes = new Attributes(walk.bytes, 0, 0, 0);
  return walk.run({
    visit(_, start, end) {
      if (isMeant !== undefined && !isMeant(views.at(start, end))) return KEEP;
      attributes.moveTo(start, end, recordAttributesTag(walk));
      edit(attributes);
      if (attributes.changed) {
        attributes.encodeInto(walk.beginRecord());
        walk.endRecord();
      }
      return KEEP;
    },
  });
}

/**
 * Shows every record to `read`. A view is valid only until the function returns; changes to it are discarded.
 *
 * @example
 * const names = new Set<string>();
 * const collectNames = (batch: Batch) => readRecords(batch, (record) => names.add(record.name));
 */
export function readRecords(batch: Batch, read: (record: AnyRecordView) => void): void {
  new RecordWalk(batch).run(
    new EditingVisitor((record) => {
      read(record);
      return "keep";
    }),
  );
}

/** Views of the records that another walk visits, for visitors that need a view only for some records. */
export class RecordViews {
  private readonly walk: RecordWalk;
  private readonly owners: FrameOwners;

  constructor(walk: RecordWalk) {
    this.walk = walk;
    this.owners = new FrameOwners(walk);
  }

  /** A view of the record in [start, end), which must be the walk's current record. */
  at(start: number, end: number): AnyRecordView {
    return createRecordView(this.walk, start, end, this.owners);
  }

  /** Writes the changes to the current record and its owners into the batch. */
  write(view: AnyRecordView): void {
    this.writeOwners();
    applyVerdict(this.walk, view, "keep");
  }

  /** Writes only the changes to the record's owners. */
  writeOwners(): void {
    this.owners.submitChanges();
  }
}

class EditingVisitor implements RecordVisitor {
  private readonly edit: (record: AnyRecordView) => RecordVerdict;
  private views: RecordViews | undefined;

  constructor(edit: (record: AnyRecordView) => RecordVerdict) {
    this.edit = edit;
  }

  visit(walk: RecordWalk, start: number, end: number): Verdict {
    this.views ??= new RecordViews(walk);
    const view = this.views.at(start, end);
    const verdict = this.edit(view);
    this.views.writeOwners();
    return applyVerdict(walk, view, verdict);
  }
}

/** Writes the result of editing a record. */
export function applyVerdict(walk: RecordWalk, view: AnyRecordView, verdict: RecordVerdict): Verdict {
  if (verdict === "drop" || view.dropped) return DROP;
  if (view.splitRecords !== undefined) return writeSplitRecords(walk, view.splitRecords) === 0 ? DROP : KEEP;
  if (view.changed) writeRecord(walk, view);
  return KEEP;
}

/** Returns how many records were written; a part may have been split again or dropped. */
function writeSplitRecords(walk: RecordWalk, records: readonly AnyRecordView[]): number {
  let written = 0;
  for (const record of records) {
    if (record.dropped) continue;
    if (record.splitRecords !== undefined) written += writeSplitRecords(walk, record.splitRecords);
    else {
      writeRecord(walk, record);
      written++;
    }
  }
  return written;
}

function writeRecord(walk: RecordWalk, view: AnyRecordView): void {
  view.encodeInto(walk.beginRecord());
  walk.endRecord();
}

export function createRecordView(walk: RecordWalk, start: number, end: number, owners: RecordOwners): AnyRecordView {
  switch (walk.batch.signal) {
    case "logs":
      return new LogRecordView(walk.bytes, start, end, owners);
    case "traces":
      return new SpanView(walk.bytes, start, end, owners);
    case "metrics":
      return new DataPointView(dataPointMessage(walk.frames[3]!.tag), walk.bytes, start, end, owners);
  }
}
