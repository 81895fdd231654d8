/** Batches: checked on entry, split by size, stamped with resource attributes. */

export { Batch, isBatch } from "./batch.js";
export { hasTooManyValues } from "./bytes/check/check-request.js";
export { type LargestParts, largestParts } from "./bytes/check/largest-part.js";
export { ResourceStamp, stampResources } from "./edit/resource-stamp.js";
export { cutBatch, type PieceLimits, SplitOverflow, splitBatch } from "./edit/split-batch.js";
