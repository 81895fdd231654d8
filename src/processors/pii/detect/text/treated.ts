/** Fixed replacements for treated values. No detector matches them, so a value is never treated twice. */
export const MASK = "****";
export const REDACTED = "[REDACTED]";
