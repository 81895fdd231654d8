/** What records are decided by, as they are counted. */
export const TRACE_ID_HASH = 0;
export const TRACE_ID_W3C = 1;
export const RANDOMNESS = 2;
export const PRIORITY = 3;
export const MISSING = 4;
export const ATTRIBUTE = 5;

/** Where the records decided by this are counted: those that were dropped, and then those that were kept. */
export function countIndex(policy: number, sampled: boolean): number {
  return (policy << 1) | (sampled ? 1 : 0);
}

export const COUNTS: number = countIndex(ATTRIBUTE, true) + 1;
