/**
 * A Map with fast access to its oldest key. In a JavaScript Map, entries deleted at the front are skipped until it is
 * rebuilt, so repeatedly reading the first key of a full map takes about ten microseconds. This class keeps one
 * iterator over the keys and continues it.
 */
export class OldestFirstMap<Value> {
  private readonly values = new Map<string, Value>();
  private walk = this.values.keys();
  /** The oldest key, once it has been asked for; the iterator is just behind it. */
  private first: string | undefined;

  get size(): number {
    return this.values.size;
  }

  get(key: string): Value | undefined {
    return this.values.get(key);
  }

  has(key: string): boolean {
    return this.values.has(key);
  }

  /** Makes the key the newest, even if it existed before. */
  set(key: string, value: Value): void {
    this.delete(key);
    this.values.set(key, value);
  }

  delete(key: string): void {
    if (this.first === key) this.first = undefined;
    this.values.delete(key);
  }

  /** The key that was set longest ago; undefined when the map is empty. */
  get oldest(): string | undefined {
    if (this.first === undefined && this.values.size > 0) this.first = this.nextKey();
    return this.first;
  }

  /** An iterator that has reached its end stays there, so a new one is needed. */
  private nextKey(): string | undefined {
    const next = this.walk.next();
    if (!next.done) return next.value;
    this.walk = this.values.keys();
    return this.walk.next().value;
  }
}
