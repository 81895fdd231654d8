import { isFuzzing } from "./runs.js";

/**
 * Tests wait for conditions. These limits only find what never comes true, and are so long that a busy machine keeps them:
 * how long a test may take (as long as it takes, where laws are tried thousands of times),
 */
export const TEST_LIMIT_MS = isFuzzing ? 24 * 3600_000 : 120_000;

/** and how long a condition may take to come true. */
export const CONDITION_LIMIT_MS = 60_000;
