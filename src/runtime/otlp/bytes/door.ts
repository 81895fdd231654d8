/** The wire form: fields, messages, values and texts, read and written. */

export { decodeField, decodeList, decodeMessage, type Tree, type TreeValue } from "./decode.js";
export { encodeField, encodeMessage } from "./encode.js";
export { KeyCache } from "./key-cache.js";
export {
  anyValueAt,
  anyValueEnd,
  encodedKey,
  findAttribute,
  hasKey,
  keyAt,
  keyEnd,
  readAnyValue,
  readKey,
  readKeyValues,
  type ValueBuilder,
} from "./key-value.js";
export {
  dataPointMessage,
  type Field,
  MESSAGES,
  type Message,
  metricDataMessage,
  POINT_ATTRIBUTES_TAGS,
  REQUEST,
} from "./messages.js";
export {
  countRecords,
  type FieldRange,
  fieldsBesideRecords,
  leadsToRecord,
  SHAPES,
  type SignalShape,
} from "./signal-shape.js";
export { decodeText, RecentTexts, validUtf8 } from "./texts.js";
export {
  asDouble,
  attributeValue,
  DoubleValue,
  readValue,
  type Value,
  valueText,
  writeKeyValue,
  writeValue,
} from "./value.js";
export { type WasmFunction, WasmSource } from "./wasm/wasm-source.js";
export * as wasm from "./wasm/wasm-writer.js";
export {
  after,
  bodyEnd,
  copyView,
  double,
  eachBody,
  FIXED32,
  FIXED64,
  fieldAt,
  fieldRange,
  fieldTag,
  findField,
  fixed32,
  highHalf,
  LENGTH_DELIMITED,
  lengthAt,
  lowHalf,
  message,
  nextBody,
  putVarint,
  skip,
  stepOver,
  VARINT,
  valueAt,
  varint,
  varint64,
  varintHalves,
  varintSize,
  viewOf,
} from "./wire.js";
export { MAX_VALUE_DEPTH, writeKeyValueBody, writeList, writeMap } from "./write-any-value.js";
export { Rewriter, WireWriter } from "./writer.js";
