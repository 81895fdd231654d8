/** JSON from outside: its reader, with bounds for everything that is parsed in one go, and readers of its values. */
export { type JsonBounds, JsonReader, MAX_JSON_DEPTH, ONLY_DEPTH, parseJson } from "./json-reader.js";
export {
  digitsOf,
  fieldsOf,
  isObject,
  listOf,
  nonEmptyText,
  numberOf,
  type ObjectFields,
  textOf,
  textsOf,
} from "./json-values.js";
