import { decodeText, encodedKey, KeyCache } from "#otlp/bytes";
import type { Pattern } from "#text/patterns";

/** A key as text and as bytes. */
export interface KnownKey {
  readonly key: string;
  readonly encoded: Uint8Array;
}

const keys = new KeyCache<KnownKey>((b, start, end) => {
  const key = decodeText(b, start, end);
  return { key, encoded: encodedKey(key) };
});

/** The key in the bytes [start, end). */
export function knownKey(b: Uint8Array, start: number, end: number): KnownKey {
  return keys.get(b, start, end);
}

/** The keys that a pattern matches, or those that it does not match. */
export class MatchingKeys {
  readonly pattern: Pattern;
  private readonly ifMatching: boolean;
  private readonly known = new KeyCache((b, start, end) => this.matchKey(b, start, end), 256);

  constructor(pattern: Pattern, ifMatching: boolean) {
    this.pattern = pattern;
    this.ifMatching = ifMatching;
  }

  /** The key in these bytes, if it belongs to the set. Programs have few keys, so most are cached. */
  find(b: Uint8Array, start: number, end: number): KnownKey | undefined {
    // Most keys are rejected at their first byte here, which is faster than a lookup.
    if (this.ifMatching && !this.pattern.mayMatch(b, start, end)) return undefined;
    return this.known.get(b, start, end);
  }

  private matchKey(b: Uint8Array, start: number, end: number): KnownKey | undefined {
    const key = decodeText(b, start, end);
    return this.pattern.test(key) === this.ifMatching ? { key, encoded: encodedKey(key) } : undefined;
  }
}
