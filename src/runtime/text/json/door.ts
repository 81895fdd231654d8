/** The one reader of JSON from outside, with bounds for everything that is parsed in one go. */
export { type JsonBounds, JsonReader, MAX_JSON_DEPTH, ONLY_DEPTH, parseJson } from "./json-reader.js";
