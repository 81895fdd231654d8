/** Archives of telemetry in a bucket or a folder: finding objects by time, and reading their records. */

export {
  type ArchivedObject,
  ArchiveError,
  type ArchiveSource,
  type ObjectFault,
} from "./archive-source.js";
export { ArchivedObjects, type FetchedObject } from "./archived-objects.js";
export { folderSource } from "./folder-source.js";
export { OrderedWork } from "./ordered-work.js";
export { HOUR_PARTITIONS, MINUTE_PARTITIONS, partitionFormatProblem } from "./partitions.js";
export { type ObjectName, parseObjectName, readObject } from "./read-object.js";
export { s3Source } from "./s3-source.js";
export { type ArchiveSelection, baseOf, type WalkedObject, type WalkPosition } from "./walk-archive.js";
