import { type AttemptError, type Batch, type Entry, splitBatch, TOO_LARGE } from "../../plugin.js";
import type { Item } from "./item.js";
import type { NewEntry } from "./store/store.js";

/** Refusals after which the rest of a family is not tried any more, unless one of its parts was taken before. */
export const BUDGET = 16;

/** The data is to blame, and only some of it may be: worth sending in parts. */
export function canBisect(entry: Entry, error: AttemptError): boolean {
  if (entry.items < 2 || error.kind !== "permanent") return false;
  return error.code === TOO_LARGE || error.category !== "integration";
}

/** The two halves of an entry, as entries of their own: as old as it, and named after the one all parts came from. */
export function halvesOf(entry: Entry, batch: Batch): NewEntry[] {
  const { pipeline, source, enqueuedAt, generation, cycles, replays } = entry;
  const halves = splitBatch(batch, { records: Math.ceil(batch.count / 2) }).filter((half) => half.count > 0);
  const fields = { parent: rootOf(entry), cycles, replays };
  return halves.map((half) => ({ batch: half, pipeline, source, enqueuedAt, generation, fields }));
}

function rootOf(entry: Entry): string {
  return entry.parent ?? entry.id;
}

interface Family {
  refusals: number;
  /** One of its parts was taken: the other side does not refuse everything. */
  hasSuccess: boolean;
  /** Single records that were refused before that. */
  badRecords: number;
  /** The one that is being sent. */
  busy: Item | undefined;
  /** The others, the largest first. */
  readonly parts: Item[];
}

/**
 * The parts of entries that were taken apart. Parts of one entry are sent one after the other, halves of the last
 * refused one first; when that has led to two bad records and nothing was taken yet, the largest part is next. So a
 * good record is found after few refusals, whether bad ones are scattered or lie together, and an endpoint that refuses
 * everything is known after BUDGET calls instead of two for each record.
 */
export class Families {
  private readonly families = new Map<string, Family>();

  /** True: it may be sent now. False: another part is being sent; this one comes out of `leave` in its turn. */
  enter(item: Item): boolean {
    const family = this.families.get(rootOf(item.entry));
    if (family?.busy !== undefined && family.busy !== item) {
      family.parts.unshift(item);
      return false;
    }
    if (family !== undefined) family.busy = item;
    else if (item.entry.parent !== undefined) this.families.set(item.entry.parent, newFamily(item));
    return true;
  }

  /** An item is not being sent any more; gives the part of its family whose turn it is. */
  leave(item: Item): Item | undefined {
    const root = rootOf(item.entry);
    const family = this.families.get(root);
    if (family === undefined || (family.busy !== undefined && family.busy !== item)) return undefined;
    if (!family.hasSuccess && item.entry.items === 1) family.badRecords += 1;
    const isBadRegion = !family.hasSuccess && family.badRecords >= 2;
    family.busy = isBadRegion ? family.parts.shift() : family.parts.pop();
    if (family.busy === undefined) this.families.delete(root);
    return family.busy;
  }

  /** An item was replaced by these parts. */
  add(item: Item, parts: readonly Item[]): void {
    this.familyOf(item).parts.push(...[...parts].reverse());
  }

  /** Notes that an item was refused; true when its family has had enough. */
  refused(item: Item): boolean {
    const family = this.familyOf(item);
    family.refusals += 1;
    return !family.hasSuccess && family.refusals >= BUDGET;
  }

  delivered(item: Item): void {
    const family = this.families.get(rootOf(item.entry));
    if (family !== undefined) family.hasSuccess = true;
  }

  /** Takes the parts that have not been sent yet out of an item's family. */
  takeRest(item: Item): Item[] {
    return this.familyOf(item).parts.splice(0);
  }

  private familyOf(item: Item): Family {
    const root = rootOf(item.entry);
    let family = this.families.get(root);
    if (family === undefined) {
      family = newFamily(item);
      this.families.set(root, family);
    }
    return family;
  }
}

function newFamily(busy: Item): Family {
  return { refusals: 0, hasSuccess: false, badRecords: 0, busy, parts: [] };
}
