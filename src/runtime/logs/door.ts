/** The operators that parse and change log entries. */

export { EntryTemplate } from "./entry-expression.js";
export type { EntrySeverity } from "./entry-severity.js";
export type { EntryTime } from "./entry-time.js";
export { OperatorChain } from "./operator-chain.js";
export { type OperatorConfig, operatorsSchema, syslogLocation, templateTexts } from "./operator-schema.js";
export { isPlainJsonParser } from "./parse-operators.js";
export { SyslogRecords } from "./syslog-records.js";
