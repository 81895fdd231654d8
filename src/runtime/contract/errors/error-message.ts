/**
 * Returns the message of a thrown value. Never throws, even if the value cannot be converted to text, because a plugin
 * may throw anything.
 */
export function errorMessage(thrown: unknown): string {
  try {
    return String(thrown instanceof Error ? ownMessage(thrown) : thrown);
  } catch {
    return "a value without a message was thrown";
  }
}

/** `fetch` tells what happened only in the cause of its error. */
function ownMessage({ message, cause }: Error): string {
  if (message !== "fetch failed" || !(cause instanceof Error)) return message;
  const reason = cause.message || (cause as { code?: unknown }).code;
  return reason === undefined ? message : `${message}: ${reason}`;
}
