/** `rejectedLogRecords` as the protobuf files and OTTL spell it: `rejected_log_records`. */
export function toSnakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
