import { MetricView, ResourceView, ScopeView } from "./owner-views.js";
import type { RecordOwners } from "./record-view.js";
import type { Frame, FrameEdit, RecordWalk } from "./record-walk.js";

type AnyOwnerView = ResourceView | ScopeView | MetricView;

/**
 * The views of the messages around records, created on demand, one per frame. Two walks over the same batch open the
 * same frames in the same order, so depth and serial number identify a frame in both.
 */
export class OwnerViewCache {
  private readonly bytes: Uint8Array;
  private readonly views = new Map<number, AnyOwnerView>();

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }

  at(depth: number, serial: number, frames: readonly Frame[]): AnyOwnerView {
    const key = frameKey(depth, serial);
    const known = this.views.get(key);
    if (known !== undefined) return known;
    const view = createView(this.bytes, depth, frames);
    this.views.set(key, view);
    return view;
  }

  /** The view of a frame, if it was requested and changed. */
  changedAt(depth: number, serial: number): FrameEdit | undefined {
    const view = this.views.size === 0 ? undefined : this.views.get(frameKey(depth, serial));
    return view?.changed ? view : undefined;
  }
}

/** The owners of a walk's current record. They change when the walk moves on. */
export class FrameOwners implements RecordOwners {
  private readonly walk: RecordWalk;
  private readonly cache: OwnerViewCache;
  private readonly views: (AnyOwnerView | undefined)[] = [];
  private readonly serials: number[] = [];

  constructor(walk: RecordWalk, cache = new OwnerViewCache(walk.bytes)) {
    this.walk = walk;
    this.cache = cache;
  }

  resource(): ResourceView {
    return this.at(0) as ResourceView;
  }

  scope(): ScopeView {
    return this.at(1) as ScopeView;
  }

  metric(): MetricView {
    return this.at(2) as MetricView;
  }

  submitChanges(): void {
    for (let depth = 0; depth < this.views.length; depth++) {
      const view = this.views[depth];
      if (view?.changed && this.serials[depth] === this.walk.serials[depth]) this.walk.editFrame(depth, view);
    }
  }

  private at(depth: number): AnyOwnerView {
    const serial = this.walk.serials[depth]!;
    if (this.views[depth] === undefined || this.serials[depth] !== serial) {
      this.views[depth] = this.cache.at(depth, serial, this.walk.frames);
      this.serials[depth] = serial;
    }
    return this.views[depth]!;
  }
}

/** The owners of the records of one innermost frame. They stay valid after the walk moves on. */
export class RetainedOwners implements RecordOwners {
  private readonly cache: OwnerViewCache;
  private readonly frames: readonly Frame[];
  private readonly serials: readonly number[];

  constructor(walk: RecordWalk, cache: OwnerViewCache) {
    this.cache = cache;
    this.frames = walk.frames.map(copyFrame);
    this.serials = [...walk.serials];
  }

  resource(): ResourceView {
    return this.cache.at(0, this.serials[0]!, this.frames) as ResourceView;
  }

  scope(): ScopeView {
    return this.cache.at(1, this.serials[1]!, this.frames) as ScopeView;
  }

  metric(): MetricView {
    return this.cache.at(2, this.serials[2]!, this.frames) as MetricView;
  }
}

function createView(bytes: Uint8Array, depth: number, frames: readonly Frame[]): AnyOwnerView {
  if (depth === 0) return new ResourceView(bytes, copyFrame(frames[0]!));
  if (depth === 1) return new ScopeView(bytes, copyFrame(frames[1]!));
  return new MetricView(bytes, copyFrame(frames[2]!), copyFrame(frames[3]!));
}

/** Needed because a walk changes its own frames as it moves on. */
function copyFrame({ tag, start, end }: Frame): Frame {
  return { tag, start, end };
}

function frameKey(depth: number, serial: number): number {
  return serial * 4 + depth;
}
