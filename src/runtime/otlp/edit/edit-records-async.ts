import type { Batch } from "../batch.js";
import { FrameOwners, OwnerViewCache, RetainedOwners } from "../views/frame-owners.js";
import { KEEP, type RecordVisitor, RecordWalk, type Verdict } from "../views/record-walk.js";
import { type AnyRecordView, applyVerdict, createRecordView, type RecordVerdict } from "./edit-records.js";

/** Gets a record and answers now or later. `index` counts the records of the batch. */
type RecordEditor = (
  record: AnyRecordView,
  index: number,
) => RecordVerdict | Promise<RecordVerdict> | PromiseLike<RecordVerdict>;

/**
 * Like `editRecords`, for a function that may return a promise. While it answers at once, this is one walk over the
 * batch. At the first promise that walk is abandoned; the remaining records are shown one after the other,
 * `concurrency` at a time, and a second walk writes all results. Every record is shown exactly once; no more are shown
 * after one has failed or `shouldContinue` returns false.
 */
export function editRecordsAsync(
  batch: Batch,
  edit: RecordEditor,
  concurrency = 1,
  shouldContinue: () => boolean = () => true,
): Batch | Promise<Batch> {
  const walk = new RecordWalk(batch);
  const visitor = new SyncVisitor(walk, edit);
  try {
    return walk.run(visitor);
  } catch (error) {
    if (error !== SUSPENDED) throw error;
    return continueAsync(batch, edit, visitor, concurrency, shouldContinue);
  }
}

const SUSPENDED = Symbol("suspended");

class SyncVisitor implements RecordVisitor {
  readonly ownerViews: OwnerViewCache;
  readonly views: AnyRecordView[] = [];
  readonly verdicts: RecordVerdict[] = [];
  /** The promise for the last of `views`, if its answer did not come at once. */
  pending: PromiseLike<RecordVerdict> | undefined;
  private readonly edit: RecordEditor;
  private readonly owners: FrameOwners;

  constructor(walk: RecordWalk, edit: RecordEditor) {
    this.edit = edit;
    this.ownerViews = new OwnerViewCache(walk.bytes);
    this.owners = new FrameOwners(walk, this.ownerViews);
  }

  visit(walk: RecordWalk, start: number, end: number): Verdict {
    const view = createRecordView(walk, start, end, this.owners);
    const verdict = this.edit(view, this.views.length);
    this.views.push(view);
    if (isPromiseLike(verdict)) {
      this.pending = verdict;
      throw SUSPENDED; // the walk stays at this record, so its owners stay valid
    }
    this.verdicts.push(verdict);
    this.owners.submitChanges();
    return applyVerdict(walk, view, verdict);
  }
}

async function continueAsync(
  batch: Batch,
  edit: RecordEditor,
  syncVisitor: SyncVisitor,
  concurrency: number,
  shouldContinue: () => boolean,
): Promise<Batch> {
  const { ownerViews, verdicts } = syncVisitor;
  const views = [...syncVisitor.views, ...viewsFrom(batch, syncVisitor.views.length, ownerViews)];
  let next = syncVisitor.views.length;
  let hasFailed = false;
  const awaitVerdict = async (index: number, answer: () => ReturnType<RecordEditor>) => {
    try {
      verdicts[index] = await answer();
    } catch (error) {
      hasFailed = true;
      throw error;
    }
  };
  const worker = async () => {
    while (next < views.length && !hasFailed && shouldContinue()) {
      const index = next++;
      await awaitVerdict(index, () => edit(views[index]!, index));
    }
  };
  const firstWorker = async (index: number) => {
    await awaitVerdict(index, () => syncVisitor.pending);
    await worker();
  };
  const otherWorkers = Math.max(0, Math.min(concurrency - 1, views.length - next));
  await Promise.all([firstWorker(next - 1), ...Array.from({ length: otherWorkers }, worker)]);
  return shouldContinue() ? new RecordWalk(batch).run(new WritingVisitor(views, verdicts, ownerViews)) : batch;
}

function viewsFrom(batch: Batch, index: number, ownerViews: OwnerViewCache): AnyRecordView[] {
  const visitor = new CollectingVisitor(index, ownerViews);
  new RecordWalk(batch).run(visitor);
  return visitor.views;
}

class CollectingVisitor implements RecordVisitor {
  readonly views: AnyRecordView[] = [];
  private readonly ownerViews: OwnerViewCache;
  private toSkip: number;
  private owners: RetainedOwners | undefined;
  private serial = 0;

  constructor(toSkip: number, ownerViews: OwnerViewCache) {
    this.toSkip = toSkip;
    this.ownerViews = ownerViews;
  }

  visit(walk: RecordWalk, start: number, end: number): Verdict {
    if (this.toSkip-- > 0) return KEEP;
    const serial = walk.serials.at(-1)!;
    if (this.owners === undefined || this.serial !== serial) {
      this.owners = new RetainedOwners(walk, this.ownerViews);
      this.serial = serial;
    }
    this.views.push(createRecordView(walk, start, end, this.owners));
    return KEEP;
  }
}

class WritingVisitor implements RecordVisitor {
  private readonly views: readonly AnyRecordView[];
  private readonly verdicts: readonly RecordVerdict[];
  private readonly ownerViews: OwnerViewCache;
  private index = 0;

  constructor(views: readonly AnyRecordView[], verdicts: readonly RecordVerdict[], ownerViews: OwnerViewCache) {
    this.views = views;
    this.verdicts = verdicts;
    this.ownerViews = ownerViews;
  }

  visit(walk: RecordWalk): Verdict {
    const index = this.index++;
    for (let depth = 0; depth < walk.serials.length; depth++) {
      const edit = this.ownerViews.changedAt(depth, walk.serials[depth]!);
      if (edit !== undefined) walk.editFrame(depth, edit);
    }
    return applyVerdict(walk, this.views[index]!, this.verdicts[index]);
  }
}

function isPromiseLike(verdict: unknown): verdict is PromiseLike<RecordVerdict> {
  return typeof verdict === "object" && verdict !== null && typeof (verdict as { then?: unknown }).then === "function";
}
