/** Times, lines, delimited fields, differences, terminals, and the masking of text from outside. */

export { parseCsvRow, parseKeyValue, splitLines, withoutEnd } from "./delimited-text.js";
export { type DiffLine, diffLines, diffValues, withContext } from "./diff-lines.js";
export { maskRecordText, maskStrings, maskText, useTextMask } from "./mask-text.js";
export { type Paint, painter, painterFor, printable, printableJson, type Style } from "./terminal.js";
export { TextError } from "./text-error.js";
export { parseStrftime } from "./time/strftime.js";
export {
  type Calendar,
  calendarOf,
  dateOf,
  formatDuration,
  formatTime,
  parseGoDuration,
} from "./time/time-format.js";
export { type LayoutPart, parseGoLayout, parseLayout } from "./time/time-layout.js";
export { type TimeNames, timeNames } from "./time/time-names.js";
export { parseTime } from "./time/time-parse.js";
export { isPlace, placeName, type TimeZone, UTC, type ZonedTime, zoneAt, zoneAtInstant } from "./time/time-zones.js";
