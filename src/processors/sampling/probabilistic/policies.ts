/** The sources of a decision, for the counters. */
export const TRACE_ID_HASH = 0;
export const TRACE_ID_W3C = 1;
export const RANDOMNESS = 2;
export const PRIORITY = 3;
export const MISSING = 4;
export const ATTRIBUTE = 5;

/** Returns the index of the counter for decisions from this source: dropped records first, then kept ones. */
export function countIndex(policy: number, sampled: boolean): number {
  return (policy << 1) | (sampled ? 1 : 0);
}

export const COUNTS: number = countIndex(ATTRIBUTE, true) + 1;
