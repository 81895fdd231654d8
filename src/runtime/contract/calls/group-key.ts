/** Maximum length of a key: it is sent as a header, and servers limit those. */
const MAX_LENGTH = 4000;
const PREFIX = "entries;";
/** Upper bound for the length of one more run: a tag of 32, two numbers of 15, a count and separators. */
const MAX_RUN_LENGTH = 90;
const ID = /^([A-Za-z0-9]{1,32})-(\d{1,15})$/;
/**
 * Each entry must have records, so a request cannot name more entries than it has records. This bounds what a receiver
 * remembers.
 */
const RUN = /^([A-Za-z0-9]{1,32})-(\d{1,15})\+(\d{1,15}):([1-9]\d{0,14})$/;

/** More entries than any sender puts into one request. */
const MAX_ENTRIES = 100_000;

/**
 * One entry of a merged request: its id and its number of records. The records are adjacent, in the order of the key.
 */
export interface KeyedEntry {
  readonly id: string;
  readonly items: number;
}

/**
 * The idempotency key of a request that consists of several entries. It names all of them, so that a receiver can tell
 * which ones it has, however they are grouped on a retry. Consecutive ids with the same number of records form one run
 * `tag-first+more:records`; runs are separated by commas.
 */
export class GroupKey {
  private finished = PREFIX;
  private tag = "";
  private first = 0;
  private more = 0;
  private items = 0;
  private count = 0;
  private lastId = "";
  private isClosed = false;

  /** Returns false if the entry does not fit into the key, and must be sent in another request. */
  add({ id, items }: KeyedEntry): boolean {
    const [, tag, digits] = ID.exec(id) ?? [];
    if (this.isClosed) return false;
    if (tag === undefined || items === 0) return this.addUnlisted(id);
    const sequence = Number(digits);
    const isNext =
      this.count > 0 && tag === this.tag && items === this.items && sequence === this.first + this.more + 1;
    if (isNext) this.more += 1;
    else if (this.count === 0 || this.finishRun()) this.startRun(tag, sequence, items);
    else return false;
    this.count += 1;
    this.lastId = id;
    return true;
  }

  /** A single entry's own id, or the list of entries. */
  get text(): string {
    return this.count === 1 ? this.lastId : `${this.finished}${this.run}`;
  }

  /** An id in another format, or an entry without records, cannot be part of a list. */
  private addUnlisted(id: string): boolean {
    if (this.count > 0) return false;
    this.count = 1;
    this.lastId = id;
    this.isClosed = true;
    return true;
  }

  private finishRun(): boolean {
    const finished = `${this.finished}${this.run},`;
    if (finished.length + MAX_RUN_LENGTH > MAX_LENGTH) return false;
    this.finished = finished;
    return true;
  }

  private startRun(tag: string, sequence: number, items: number): void {
    this.tag = tag;
    this.first = sequence;
    this.more = 0;
    this.items = items;
  }

  private get run(): string {
    return `${this.tag}-${this.first}+${this.more}:${this.items}`;
  }
}

/**
 * The entries that a key names; undefined if the key does not name a list, or the list does not match the number of
 * records.
 */
export function entriesOfKey(key: string, records: number): KeyedEntry[] | undefined {
  if (!key.startsWith(PREFIX)) return undefined;
  const entries: KeyedEntry[] = [];
  let sum = 0;
  for (const text of key.slice(PREFIX.length).split(",")) {
    const run = RUN.exec(text);
    if (run === null) return undefined;
    const [first, count, items] = [Number(run[2]), Number(run[3]) + 1, Number(run[4])];
    sum += count * items;
    if (sum > records || entries.length + count > MAX_ENTRIES) return undefined;
    for (let i = 0; i < count; i++) entries.push({ id: `${run[1]}-${first + i}`, items });
  }
  return sum === records ? entries : undefined;
}
