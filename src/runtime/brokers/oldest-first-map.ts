/**
 * A Map that knows its oldest key at once. A JavaScript Map does not: what was deleted at its front stays there until it is
 * made anew inside, so that looking at the first key of a full one again and again takes ten microseconds each time. Here one
 * walk over the keys is kept, which goes on where it was.
 */
export class OldestFirstMap<Value> {
  private readonly values = new Map<string, Value>();
  private walk = this.values.keys();
  /** The first key, once somebody has asked for it: the walk is just behind it. */
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

  /** The key is the youngest from now on, also when it was there before. */
  set(key: string, value: Value): void {
    this.delete(key);
    this.values.set(key, value);
  }

  delete(key: string): void {
    if (this.first === key) this.first = undefined;
    this.values.delete(key);
  }

  /** The key that was set longest ago; undefined when there is none. */
  get oldest(): string | undefined {
    if (this.first === undefined && this.values.size > 0) this.first = this.nextKey();
    return this.first;
  }

  /** A walk that has once come to its end stays there. */
  private nextKey(): string | undefined {
    const next = this.walk.next();
    if (!next.done) return next.value;
    this.walk = this.values.keys();
    return this.walk.next().value;
  }
}
