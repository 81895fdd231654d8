/** Replacements for treated values. No detector matches them, so a value is never treated twice. */
export const MASK = "****";
export const REDACTED = "[REDACTED]";
/** Regular expression for a hash. */
export const HASH_PATTERN = "hash\\([0-9a-f]{32}\\)";

/** Matches any of these replacements in a text. */
export const TREATED = new RegExp(`${quote(MASK)}|${quote(REDACTED)}|${HASH_PATTERN}`, "g");

function quote(text: string): string {
  return text.replace(/[*[\]]/g, "\\$&");
}
