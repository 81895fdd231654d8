/** What treatments leave in the place of a value: no detector finds anything in it, and none is treated again. */
export const MASK = "****";
export const REDACTED = "[REDACTED]";
/** A hash as a regular expression finds it. */
export const HASH_PATTERN = "hash\\([0-9a-f]{32}\\)";

/** Any of them, anywhere in a text. */
export const TREATED = new RegExp(`${quote(MASK)}|${quote(REDACTED)}|${HASH_PATTERN}`, "g");

function quote(text: string): string {
  return text.replace(/[*[\]]/g, "\\$&");
}
