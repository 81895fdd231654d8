import type { Batch } from "./batch.js";
import { MESSAGES } from "./messages.js";
import { DataPointView } from "./views/data-point-view.js";
import { LogRecordView } from "./views/log-record-view.js";
import { MetricView, ResourceView, ScopeView } from "./views/owners.js";
import type { Owners } from "./views/record-view.js";
import { SpanView } from "./views/span-view.js";
import { DROP, KEEP, type RecordVisitor, RecordWalk, type Verdict } from "./walk.js";

export type AnyRecordView = LogRecordView | SpanView | DataPointView;

/** What the function of `editRecords` may answer: "drop" takes the record out, anything else keeps it. */
// biome-ignore lint/suspicious/noConfusingVoidType: a function that answers nothing keeps the record
export type RecordVerdict = "drop" | "keep" | undefined | void;

/**
 * Shows every record to `edit` and gives back the batch with its changes: the very same batch if there were none. A
 * throw leaves the batch as it was.
 */
export function editRecords(batch: Batch, edit: (record: AnyRecordView) => RecordVerdict): Batch {
  return new RecordWalk(batch).run(new ViewVisitor(edit));
}

/** Shows every record, for reading. */
export function readRecords(batch: Batch, read: (record: AnyRecordView) => void): void {
  new RecordWalk(batch).run(
    new ViewVisitor((record) => {
      read(record);
      return "keep";
    }),
  );
}

/** Views of the records that another walk visits: for visitors that need one only now and then. */
export class RecordViews {
  private readonly walk: RecordWalk;
  private readonly owners: FrameOwners;

  constructor(walk: RecordWalk) {
    this.walk = walk;
    this.owners = new FrameOwners(walk);
  }

  /** The record in [start, end), which must be the one the walk is at. */
  at(start: number, end: number): AnyRecordView {
    return viewOf(this.walk, start, end, this.owners);
  }

  /** Puts the changes made to the present record, and to what it shares with its neighbours, into the batch. */
  write(view: AnyRecordView): void {
    this.writeOwners();
    if (!view.changed) return;
    view.encodeInto(this.walk.beginRecord());
    this.walk.endRecord();
  }

  /** Only those to what it shares with its neighbours. */
  writeOwners(): void {
    this.owners.submitChanges();
  }
}

class ViewVisitor implements RecordVisitor {
  private readonly edit: (record: AnyRecordView) => RecordVerdict;
  private views: RecordViews | undefined;

  constructor(edit: (record: AnyRecordView) => RecordVerdict) {
    this.edit = edit;
  }

  visit(walk: RecordWalk, start: number, end: number): Verdict {
    this.views ??= new RecordViews(walk);
    const view = this.views.at(start, end);
    const verdict = this.edit(view);
    if (verdict === "drop" || view.dropped) {
      this.views.writeOwners();
      return DROP;
    }
    this.views.write(view);
    return KEEP;
  }
}

function viewOf(walk: RecordWalk, start: number, end: number, owners: Owners): AnyRecordView {
  switch (walk.batch.signal) {
    case "logs":
      return new LogRecordView(walk.bytes, start, end, owners);
    case "traces":
      return new SpanView(walk.bytes, start, end, owners);
    case "metrics":
      return new DataPointView(pointMessage(walk.frames[3]!.tag), walk.bytes, start, end, owners);
  }
}

function pointMessage(dataTag: number) {
  return MESSAGES["Metric"]!.byNumber[dataTag >>> 3]!.message!.byNumber[1]!.message!;
}

/** The views of the messages around the present record: made when asked for, the same as long as the frame is. */
class FrameOwners implements Owners {
  private readonly walk: RecordWalk;
  private readonly views: (ResourceView | ScopeView | MetricView | undefined)[] = [];
  private readonly serials: number[] = [];

  constructor(walk: RecordWalk) {
    this.walk = walk;
  }

  resource(): ResourceView {
    return this.at(0, () => new ResourceView(this.walk.bytes, this.walk.frames[0]!));
  }

  scope(): ScopeView {
    return this.at(1, () => new ScopeView(this.walk.bytes, this.walk.frames[1]!));
  }

  metric(): MetricView {
    return this.at(2, () => new MetricView(this.walk.bytes, this.walk.frames[2]!, this.walk.frames[3]!));
  }

  submitChanges(): void {
    for (let depth = 0; depth < this.views.length; depth++) {
      const view = this.views[depth];
      if (view?.changed && this.serials[depth] === this.walk.serials[depth]) this.walk.editFrame(depth, view);
    }
  }

  private at<V extends ResourceView | ScopeView | MetricView>(depth: number, create: () => V): V {
    if (this.views[depth] === undefined || this.serials[depth] !== this.walk.serials[depth]) {
      this.views[depth] = create();
      this.serials[depth] = this.walk.serials[depth]!;
    }
    return this.views[depth] as V;
  }
}
