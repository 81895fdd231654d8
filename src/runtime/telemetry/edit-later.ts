import type { Batch } from "./batch.js";
import { type AnyRecordView, conclude, type RecordVerdict, viewOf } from "./edit.js";
import { FrameOwners, KeptOwners, OwnerViews } from "./frame-owners.js";
import { KEEP, type RecordVisitor, RecordWalk, type Verdict } from "./walk.js";

/** Shows a record; answers now or later. `index` counts the records of the batch. */
export type RecordEditor = (
  record: AnyRecordView,
  index: number,
) => RecordVerdict | Promise<RecordVerdict> | PromiseLike<RecordVerdict>;

/**
 * As `editRecords`, for a function that may answer later. While it answers at once this is one walk over the batch. At
 * the first promise that walk is given up; the records behind it are shown one after the other, `atOnce` at a time, and
 * a second walk writes what became of all of them. Every record is shown exactly once; none is any more after one has
 * failed, or once `isWanted` says no.
 */
export function editRecordsLater(
  batch: Batch,
  edit: RecordEditor,
  atOnce = 1,
  isWanted: () => boolean = () => true,
): Batch | Promise<Batch> {
  const walk = new RecordWalk(batch);
  const visitor = new PromptVisitor(walk, edit);
  try {
    return walk.run(visitor);
  } catch (error) {
    if (error !== SUSPENDED) throw error;
    return goOn(batch, edit, visitor, atOnce, isWanted);
  }
}

const SUSPENDED = Symbol("suspended");

class PromptVisitor implements RecordVisitor {
  readonly store: OwnerViews;
  readonly views: AnyRecordView[] = [];
  readonly verdicts: RecordVerdict[] = [];
  /** The answer of the last of `views`, when it did not come at once. */
  pending: PromiseLike<RecordVerdict> | undefined;
  private readonly edit: RecordEditor;
  private readonly owners: FrameOwners;

  constructor(walk: RecordWalk, edit: RecordEditor) {
    this.edit = edit;
    this.store = new OwnerViews(walk.bytes);
    this.owners = new FrameOwners(walk, this.store);
  }

  visit(walk: RecordWalk, start: number, end: number): Verdict {
    const view = viewOf(walk, start, end, this.owners);
    const verdict = this.edit(view, this.views.length);
    this.views.push(view);
    if (isLater(verdict)) {
      this.pending = verdict;
      throw SUSPENDED; // the walk stays at this record, so that its owners stay what they are
    }
    this.verdicts.push(verdict);
    this.owners.submitChanges();
    return conclude(walk, view, verdict);
  }
}

async function goOn(
  batch: Batch,
  edit: RecordEditor,
  before: PromptVisitor,
  atOnce: number,
  isWanted: () => boolean,
): Promise<Batch> {
  const { store, verdicts } = before;
  const views = [...before.views, ...viewsFrom(batch, before.views.length, store)];
  let next = before.views.length;
  let hasFailed = false;
  const settle = async (index: number, answer: () => ReturnType<RecordEditor>) => {
    try {
      verdicts[index] = await answer();
    } catch (error) {
      hasFailed = true;
      throw error;
    }
  };
  const work = async () => {
    while (next < views.length && !hasFailed && isWanted()) {
      const mine = next++;
      await settle(mine, () => edit(views[mine]!, mine));
    }
  };
  const first = async (index: number) => {
    await settle(index, () => before.pending);
    await work();
  };
  const others = Math.max(0, Math.min(atOnce - 1, views.length - next));
  await Promise.all([first(next - 1), ...Array.from({ length: others }, work)]);
  return isWanted() ? new RecordWalk(batch).run(new WritingVisitor(views, verdicts, store)) : batch;
}

function viewsFrom(batch: Batch, index: number, store: OwnerViews): AnyRecordView[] {
  const visitor = new CollectingVisitor(index, store);
  new RecordWalk(batch).run(visitor);
  return visitor.views;
}

class CollectingVisitor implements RecordVisitor {
  readonly views: AnyRecordView[] = [];
  private readonly store: OwnerViews;
  private toSkip: number;
  private owners: KeptOwners | undefined;
  private serial = 0;

  constructor(toSkip: number, store: OwnerViews) {
    this.toSkip = toSkip;
    this.store = store;
  }

  visit(walk: RecordWalk, start: number, end: number): Verdict {
    if (this.toSkip-- > 0) return KEEP;
    const serial = walk.serials.at(-1)!;
    if (this.owners === undefined || this.serial !== serial) {
      this.owners = new KeptOwners(walk, this.store);
      this.serial = serial;
    }
    this.views.push(viewOf(walk, start, end, this.owners));
    return KEEP;
  }
}

class WritingVisitor implements RecordVisitor {
  private readonly views: readonly AnyRecordView[];
  private readonly verdicts: readonly RecordVerdict[];
  private readonly store: OwnerViews;
  private index = 0;

  constructor(views: readonly AnyRecordView[], verdicts: readonly RecordVerdict[], store: OwnerViews) {
    this.views = views;
    this.verdicts = verdicts;
    this.store = store;
  }

  visit(walk: RecordWalk): Verdict {
    const index = this.index++;
    for (let depth = 0; depth < walk.serials.length; depth++) {
      const edit = this.store.changedAt(depth, walk.serials[depth]!);
      if (edit !== undefined) walk.editFrame(depth, edit);
    }
    return conclude(walk, this.views[index]!, this.verdicts[index]);
  }
}

function isLater(verdict: unknown): verdict is PromiseLike<RecordVerdict> {
  return typeof verdict === "object" && verdict !== null && typeof (verdict as { then?: unknown }).then === "function";
}
