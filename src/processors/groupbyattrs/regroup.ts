import { after, fieldTag, leadsToRecord, SHAPES, type SignalShape, stepOver, valueAt, varint } from "#otlp/bytes";
import type { Frame } from "#otlp/views";
import { Batch } from "../../plugin.js";
import { AttributeFinder } from "./attribute-finder.js";
import { GroupTree, type RecordGroup } from "./group-tree.js";

/** A batch whose records have been moved to the resources they belong to. */
export interface Regrouped {
  /** The same batch if nothing had to be moved or merged. */
  readonly batch: Batch;
  /** Number of records that had at least one of the keys. */
  readonly moved: number;
}

/**
 * Moves the attributes of records that have one of the keys to their resource, and then merges equal resources, scopes
 * and metrics. Two of them are equal if all their fields are, whatever the order of their attributes. Records keep
 * their order within a group; groups come in the order of their first record. Frames without a record are left out.
 *
 * Everything around a record is repeated for every group that the record's frame is split into. A `RegroupOverflow` is
 * thrown if the batch would then have more than `limit` bytes.
 */
export function regroup(batch: Batch, keys: readonly string[], limit = Number.POSITIVE_INFINITY): Regrouped {
  return new Regrouper(batch, keys, limit).run();
}

/** A frame of the batch and the groups that its records went to, by the group of the frame around it. */
interface FrameWithGroups extends Frame {
  readonly groups: Map<RecordGroup | string, RecordGroup>;
}

/** Stands for a record without any of the attributes. `AttributeFinder` never returns this text. */
const NO_ATTRIBUTES = "\0";

class Regrouper {
  private readonly batch: Batch;
  private readonly bytes: Uint8Array;
  private readonly shape: SignalShape;
  private readonly finder: AttributeFinder;
  private readonly tree: GroupTree;
  private readonly frames: FrameWithGroups[] = [];
  private moved = 0;

  constructor(batch: Batch, keys: readonly string[], limit: number) {
    this.batch = batch;
    this.bytes = batch.bytes;
    this.shape = SHAPES[batch.signal];
    this.finder = new AttributeFinder(batch, keys);
    this.tree = new GroupTree(batch, limit);
  }

  run(): Regrouped {
    this.children(0, 0, this.bytes.length);
    const { tree, moved } = this;
    if (moved === 0 && !tree.hasMerged) return { batch: this.batch, moved };
    return { batch: Batch.trusted(this.batch.signal, tree.write(), this.batch.count), moved };
  }

  private children(depth: number, start: number, end: number): void {
    for (let p = start; p < end; ) {
      const at = p;
      p = stepOver(this.bytes, p);
      const tag = fieldTag;
      if (!leadsToRecord(this.shape, depth, tag)) continue;
      varint(this.bytes, valueAt);
      if (depth === this.shape.levels.length) this.record(at, after, p);
      else {
        this.frames.length = depth;
        this.frames.push({ tag, start: after, end: p, groups: new Map() });
        this.children(depth + 1, after, p);
      }
    }
  }

  private record(at: number, start: number, end: number): void {
    const { finder } = this;
    const found = finder.find(start, end, this.frames[this.frames.length - 1]!.tag);
    const group = this.groupOf(found);
    if (found === undefined) return group.add(at, end);
    this.moved++;
    group.addRest(start, end, finder);
  }

  private groupOf(found: string | undefined): RecordGroup {
    let parent: RecordGroup | undefined;
    for (let i = 0; i < this.frames.length; i++) {
      const frame = this.frames[i]!;
      const key: RecordGroup | string = parent ?? found ?? NO_ATTRIBUTES;
      let group = frame.groups.get(key);
      if (group === undefined) {
        const moved = i === 0 && found !== undefined ? this.finder.extraction() : undefined;
        group = this.tree.group(parent, frame, moved);
        frame.groups.set(key, group);
      }
      parent = group;
    }
    return parent!;
  }
}
