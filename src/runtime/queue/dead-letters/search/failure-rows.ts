import type { DeadLetterQuery, Entry } from "#contract/operations";
import { entryId } from "../../store/format/entry.js";
import type { EntryRef, FailureFacts } from "../../store/store.js";
import { nameMatcher } from "../dead-letters.js";
import type { Searched } from "./match-records.js";

/** The properties that dead letters of one cause share. */
export interface KnownCause {
  readonly signature: string;
  readonly exporter: string;
  readonly reason: NonNullable<Entry["failure"]>["reason"];
  readonly category: string;
  readonly signal: Entry["signal"];
  readonly error: { readonly class: string; readonly message: string };
}

/** Gets the numbers of one dead letter. The cause is undefined if the entry has to be read to find it. */
export type CountRow = (cause: KnownCause | undefined, ref: EntryRef, at: number, items: number, bytes: number) => void;

/** Senders can make up causes, lists of names and imported ids, so only this many of each are remembered. */
const MAX_CAUSES = 2000;
const MAX_TAGS = 1000;
const MAX_NAME_LISTS = 10_000;
const FIRST_CAPACITY = 1024;
const UNKNOWN = 0;

/**
 * The properties of each dead letter that filters and counts need, in about a hundred bytes each. A hundred thousand
 * rows are scanned in a few milliseconds.
 */
export class FailureRows {
  private readonly places = new Map<EntryRef, number>();
  private readonly causes = new Interned<KnownCause>(MAX_CAUSES);
  private readonly nameLists = new Interned<readonly string[]>(MAX_NAME_LISTS);
  private readonly tags = new Interned<string>(MAX_TAGS);
  private capacity = FIRST_CAPACITY;
  private refs = new Float64Array(FIRST_CAPACITY);
  private times = new Float64Array(FIRST_CAPACITY);
  /** Negative for dead letters that are deleted and can be restored. */
  private items = new Float64Array(FIRST_CAPACITY);
  private bytes = new Float64Array(FIRST_CAPACITY);
  private attempts = new Uint32Array(FIRST_CAPACITY);
  private tagOf = new Uint16Array(FIRST_CAPACITY);
  private sequences = new Float64Array(FIRST_CAPACITY);
  private causeOf = new Uint16Array(FIRST_CAPACITY);
  private namesOf = new Uint16Array(FIRST_CAPACITY);

  get size(): number {
    return this.places.size;
  }

  /** Whether some causes were not remembered and there is room for them now. */
  get shouldReadAgain(): boolean {
    return this.causes.shouldReadAgain || this.nameLists.shouldReadAgain;
  }

  has(ref: EntryRef): boolean {
    return this.places.has(ref);
  }

  /** Adds or replaces a row. `entry` is called only if its cause or its names are not known yet. */
  set(ref: EntryRef, facts: FailureFacts, entry: () => Entry): void {
    const before = this.places.get(ref);
    const place = before ?? this.places.size;
    if (before !== undefined) this.release(place);
    else this.places.set(ref, place);
    if (place >= this.capacity) this.grow();
    const { at, items, bytes, attempts, isDeleted, tag, sequence, causeKey, namesKey } = facts;
    this.refs[place] = ref;
    this.times[place] = at;
    this.items[place] = isDeleted ? -1 - items : items;
    this.bytes[place] = bytes;
    this.attempts[place] = attempts;
    this.causeOf[place] = this.causes.hold(causeKey, () => causeOf(entry()));
    this.sequences[place] = sequence;
    this.tagOf[place] = tag === "" ? this.tags.holdUnknown() : this.tags.hold(tag, () => tag);
    this.namesOf[place] = this.nameLists.hold(namesKey, () => entry().failure!.names);
  }

  delete(ref: EntryRef): void {
    const place = this.places.get(ref);
    if (place === undefined) return;
    this.release(place);
    this.places.delete(ref);
    const last = this.places.size;
    if (place === last) return;
    for (const column of this.columns()) column[place] = column[last]!;
    this.places.set(this.refs[place]!, place);
  }

  /**
   * Returns the matches in no particular order (`sure`), and the rows that must be read to decide (`unsure`). Filters
   * on records are ignored.
   */
  select(query: DeadLetterQuery): { readonly sure: Float64Array; readonly unsure: Float64Array } {
    const { since = Number.NEGATIVE_INFINITY, until = Number.POSITIVE_INFINITY, deleted = false } = query;
    const causes = this.causes.verdicts((cause) => isCauseWanted(cause, query));
    const isEvent = nameMatcher(query);
    const names = this.nameLists.verdicts((list) => isEvent === undefined || list.some(isEvent));
    if (isEvent === undefined) names[UNKNOWN] = YES;
    if (!asksForCause(query)) causes[UNKNOWN] = YES;
    const sure = new Float64Array(this.size);
    const unsure: EntryRef[] = [];
    let found = 0;
    for (let place = 0; place < this.size; place++) {
      const at = this.times[place]!;
      if (at < since || at >= until || this.items[place]! < 0 !== deleted) continue;
      const cause = causes[this.causeOf[place]!]!;
      const name = names[this.namesOf[place]!]!;
      if (cause === NO || name === NO) continue;
      if (cause === YES && name === YES) sure[found++] = this.refs[place]!;
      else unsure.push(this.refs[place]!);
    }
    return { sure: sure.subarray(0, found), unsure: Float64Array.from(unsure) };
  }

  /** Calls `count` for those of the dead letters that exist. */
  count(refs: Iterable<EntryRef>, count: CountRow): void {
    for (const ref of refs) {
      const place = this.places.get(ref);
      if (place === undefined) continue;
      const cause = this.causes.get(this.causeOf[place]!);
      count(cause, ref, this.times[place]!, this.itemsAt(place), this.bytes[place]!);
    }
  }

  /** Returns the id; undefined if there is no such row or the entry has to be read to find it. */
  idOf(ref: EntryRef): string | undefined {
    const place = this.places.get(ref);
    const tag = place === undefined ? undefined : this.tags.get(this.tagOf[place]!);
    return tag === undefined ? undefined : entryId(tag, this.sequences[place!]!);
  }

  /** Returns what is needed to search the records of a dead letter; undefined in the same cases as `idOf`. */
  searched(ref: EntryRef): Searched | undefined {
    const place = this.places.get(ref);
    const cause = place === undefined ? undefined : this.causes.get(this.causeOf[place]!);
    if (place === undefined || cause === undefined) return undefined;
    const facts = { exporter: cause.exporter, cause, attempts: this.attempts[place]! };
    return { ref, signal: cause.signal, items: this.itemsAt(place), bytes: this.bytes[place]!, facts };
  }

  private itemsAt(place: number): number {
    const items = this.items[place]!;
    return items < 0 ? -1 - items : items;
  }

  private release(place: number): void {
    this.causes.release(this.causeOf[place]!);
    this.nameLists.release(this.namesOf[place]!);
    this.tags.release(this.tagOf[place]!);
  }

  private columns() {
    const { refs, times, items, bytes, attempts, tagOf, sequences, causeOf, namesOf } = this;
    return [refs, times, items, bytes, attempts, tagOf, sequences, causeOf, namesOf];
  }

  private grow(): void {
    this.capacity *= 2;
    this.refs = grown(this.refs, this.capacity);
    this.times = grown(this.times, this.capacity);
    this.items = grown(this.items, this.capacity);
    this.bytes = grown(this.bytes, this.capacity);
    this.attempts = grown(this.attempts, this.capacity);
    this.tagOf = grown(this.tagOf, this.capacity);
    this.sequences = grown(this.sequences, this.capacity);
    this.causeOf = grown(this.causeOf, this.capacity);
    this.namesOf = grown(this.namesOf, this.capacity);
  }
}

export function causeOf({ exporter, signal, failure }: Entry): KnownCause {
  const { signature, reason, category, error } = failure!;
  const { class: kind, message } = error;
  return { signature, exporter, reason, category, signal, error: { class: kind, message } };
}

function grown<T extends Float64Array | Uint32Array | Uint16Array>(column: T, capacity: number): T {
  const larger = new (column.constructor as new (length: number) => T)(capacity);
  larger.set(column);
  return larger;
}

function isCauseWanted(cause: KnownCause, { reason, category, signature, signal }: DeadLetterQuery): boolean {
  return (
    (reason === undefined || cause.reason === reason) &&
    (category === undefined || cause.category === category) &&
    (signature === undefined || cause.signature === signature) &&
    (signal === undefined || cause.signal === signal)
  );
}

function asksForCause({ reason, category, signature, signal }: DeadLetterQuery): boolean {
  return [reason, category, signature, signal].some((value) => value !== undefined);
}

const NO = 0;
const YES = 1;
const UNSURE = 2;

/** Numbers values that many rows share. 0 stands for a value that is not remembered. */
class Interned<T> {
  private readonly max: number;
  private readonly numbers = new Map<string, number>();
  private readonly held: ({ readonly key: string; readonly value: T; holders: number } | undefined)[] = [undefined];
  private readonly free: number[] = [];
  private unknown = 0;

  constructor(max: number) {
    this.max = max;
  }

  get shouldReadAgain(): boolean {
    return this.unknown > 0 && this.numbers.size < this.max / 2;
  }

  hold(key: string, make: () => T): number {
    const known = this.numbers.get(key) ?? this.add(key, make);
    if (known === UNKNOWN) return this.holdUnknown();
    this.held[known]!.holders++;
    return known;
  }

  holdUnknown(): number {
    this.unknown++;
    return UNKNOWN;
  }

  release(number: number): void {
    const held = this.held[number];
    if (held === undefined) this.unknown--;
    else if (--held.holders === 0) {
      this.numbers.delete(held.key);
      this.held[number] = undefined;
      this.free.push(number);
    }
  }

  get(number: number): T | undefined {
    return this.held[number]?.value;
  }

  verdicts(isWanted: (value: T) => boolean): Uint8Array {
    const verdicts = Uint8Array.from(this.held, (held) => (held !== undefined && isWanted(held.value) ? YES : NO));
    verdicts[UNKNOWN] = UNSURE;
    return verdicts;
  }

  private add(key: string, make: () => T): number {
    if (this.numbers.size >= this.max) return UNKNOWN;
    const number = this.free.pop() ?? this.held.length;
    this.numbers.set(key, number);
    this.held[number] = { key, value: make(), holders: 0 };
    return number;
  }
}
