/** A batch cut into several by a decision for each record. */

export { partition, partitionByMarks } from "./partition.js";
