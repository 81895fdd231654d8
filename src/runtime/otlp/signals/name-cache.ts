const DEFAULT_MAX_NAMES = 4096;
const DEFAULT_MAX_LENGTH = 256;

interface NameCacheLimits {
  readonly maxNames?: number;
  /** In characters. */
  readonly maxLength?: number;
}

/**
 * Cached facts about names. The same few names are asked for again and again, but they come from outside, so their
 * number and length are limited. When there are too many, all are forgotten, which costs less than finding the one to
 * evict.
 */
export class NameCache<V extends NonNullable<unknown> | null> {
  private readonly find: (name: string) => V;
  private readonly maxNames: number;
  private readonly maxLength: number;
  private readonly known = new Map<string, V>();

  constructor(find: (name: string) => V, limits: NameCacheLimits = {}) {
    this.find = find;
    this.maxNames = limits.maxNames ?? DEFAULT_MAX_NAMES;
    this.maxLength = limits.maxLength ?? DEFAULT_MAX_LENGTH;
  }

  get(name: string): V {
    const known = this.known.get(name);
    return known === undefined ? this.add(name) : known;
  }

  private add(name: string): V {
    const found = this.find(name);
    if (name.length > this.maxLength) return found;
    if (this.known.size >= this.maxNames) this.known.clear();
    this.known.set(name, found);
    return found;
  }
}
