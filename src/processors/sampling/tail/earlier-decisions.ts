/**
 * The state of a trace within an entry: an exporter has it, it was sampled and no exporter has it, or it was dropped.
 */
export type TraceFate = "delivered" | "sampled" | "dropped";

/** A position and whether the trace was sampled, in one number, because there may be millions of them. */
type Noted = number;

/**
 * Decisions of earlier runs about traces of entries that may be read again. They are kept until these entries have left
 * the journal, unlike decisions in the cache, which later ones replace.
 */
export class EarlierDecisions {
  private readonly firstPosition: number;
  private lastPosition = Number.NEGATIVE_INFINITY;
  private readonly noted = new Map<string, Noted | Noted[]>();

  /** Entries before `firstPosition` are never read again. */
  constructor(firstPosition: number) {
    this.firstPosition = firstPosition;
  }

  /**
   * Adds a decision that was made when the entry at `after` was the last one that had arrived. Call it in the order of
   * the decisions.
   */
  add(id: string, isSampled: boolean, after: number): void {
    if (after < this.firstPosition) return;
    this.lastPosition = Math.max(this.lastPosition, after);
    const noted = after * 2 + (isSampled ? 1 : 0);
    const known = this.noted.get(id);
    const last = typeof known === "object" ? known.at(-1)! : known;
    // A repeated decision also covers entries up to its later position. A trace may be noted with every request.
    if (last === undefined || (isSame(last, noted) && typeof known === "number")) this.noted.set(id, noted);
    else if (typeof known !== "object") this.noted.set(id, [last, noted]);
    else if (isSame(last, noted)) known[known.length - 1] = noted;
    else known.push(noted);
  }

  /**
   * Uses the first decision noted after the entry had arrived, because later ones were about other spans of the trace.
   * If there is none, the entry was late, and the last decision before it applies.
   */
  fateOf(position: number, id: string): TraceFate | undefined {
    if (position > this.lastPosition) return undefined;
    const all = listOf(this.noted.get(id) ?? []);
    const noted = all.find((each) => each >= position * 2) ?? all.at(-1);
    return noted === undefined ? undefined : noted % 2 === 1 ? "sampled" : "dropped";
  }

  /** Whether an entry that may need one of the decisions is still in the journal. */
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
