/** Batches: checked on entry, split by size, stamped with resource attributes. */

export { Batch, isBatch } from "./batch.js";
export { ResourceStamp, stampResources } from "./edit/resource-stamp.js";
export { SplitOverflow, splitBatch } from "./edit/split-batch.js";
