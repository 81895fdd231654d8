/** What a thrown value says. Never throws, also for what cannot be made a text: a plugin may throw anything. */
export function errorMessage(thrown: unknown): string {
  try {
    return String(thrown instanceof Error ? thrown.message : thrown);
  } catch {
    return "something was thrown that has no words";
  }
}
