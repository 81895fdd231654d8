/**
 * Returns the message of a thrown value. Never throws, even if the value cannot be converted to text, because a plugin
 * may throw anything.
 */
export function errorMessage(thrown: unknown): string {
  try {
    return String(thrown instanceof Error ? thrown.message : thrown);
  } catch {
    return "a value without a message was thrown";
  }
}
