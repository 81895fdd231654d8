import type { TraceFate } from "./decision-notes.js";

/** A position and whether the trace was sampled, in one number: there may be millions. */
type Noted = number;

/**
 * Decisions of earlier runs on traces of entries that may come again. They are kept until these have left the journal, unlike
 * those in the cache, of which later ones take the place.
 */
export class EarlierDecisions {
  private readonly firstPosition: number;
  private lastPosition = Number.NEGATIVE_INFINITY;
  private readonly noted = new Map<string, Noted | Noted[]>();

  /** No entry before `firstPosition` comes again. */
  constructor(firstPosition: number) {
    this.firstPosition = firstPosition;
  }

  /** It was made when the entry at `after` was the last that had come; to be called in the order they were made. */
  add(id: string, isSampled: boolean, after: number): void {
    if (after < this.firstPosition) return;
    this.lastPosition = Math.max(this.lastPosition, after);
    const noted = after * 2 + (isSampled ? 1 : 0);
    const known = this.noted.get(id);
    const last = typeof known === "object" ? known.at(-1)! : known;
    // The same once more says the same of entries up to a later position. A trace may be noted with every request.
    if (last === undefined || (isSame(last, noted) && typeof known === "number")) this.noted.set(id, noted);
    else if (typeof known === "number") this.noted.set(id, [known, noted]);
    else if (isSame(last, noted)) known![known!.length - 1] = noted;
    else known!.push(noted);
  }

  /**
   * By the first decision that was noted after the entry had come, as a later one was about other spans of the trace; or by
   * the last one before, which the entry came late for.
   */
  fateOf(position: number, id: string): TraceFate | undefined {
    if (position > this.lastPosition) return undefined;
    const all = listOf(this.noted.get(id) ?? []);
    const noted = all.find((each) => each >= position * 2) ?? all.at(-1);
    return noted === undefined ? undefined : noted % 2 === 1 ? "sampled" : "dropped";
  }

  /** An entry that may ask for one of them is still there. */
  isNeededFrom(firstPosition: number): boolean {
    return firstPosition <= this.lastPosition;
  }
}

function isSame(one: Noted, other: Noted): boolean {
  return one % 2 === other % 2 && one <= other;
}

function listOf(noted: Noted | readonly Noted[]): readonly Noted[] {
  return typeof noted === "number" ? [noted] : noted;
}
