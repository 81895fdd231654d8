/** OTLP/JSON, trees of plain objects, and plain JSON for other systems. */

export { findKeyAndValue, keyEnd, keyStart, valueEnd, valueStart } from "../bytes/key-value.js";
export {
  batchFromJson,
  batchFromJsonInSteps,
  batchToJson,
  batchToJsonBytes,
  batchToJsonBytesInSteps,
} from "./batch-json.js";
export {
  eachPoint,
  type JsonObject,
  type PlacedRecord,
  placedRecords,
  requestOf,
  signalOfRequest,
} from "./placed-record.js";
export { DocumentJson, labelOf, membersOf } from "./plain/document-json.js";
export {
  cutByKey,
  logTime,
  type MetricKindName,
  type OwnedTree,
  ownedRecords,
  ownedTrees,
  type PlainAttributes,
  type TreeOwner,
  treeAttributes,
  treeHex,
  treesIn,
  treeText,
} from "./plain/owned-trees.js";
export { KeySet, PlainJsonWriter } from "./plain/plain-json.js";
export {
  anyValue,
  jsonText,
  type KeyValueTree,
  keyValues,
  plainAttributes,
  plainObject,
  plainValue,
  plainValueAt,
  plainValueText,
} from "./plain/plain-value.js";
export { decodeTree, encodeTree } from "./tree.js";
export { findUnknownMember } from "./unknown-member.js";
export { JsonWriter } from "./write-json.js";
export {
  putDecimal,
  putDecimal64,
  putPadded,
  writeAscii,
  writeEscaped,
  writeHex,
  writeHexDigits,
  writeText,
} from "./write-text.js";
