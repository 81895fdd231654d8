import type { JetStreamManager } from "@nats-io/jetstream";

/** JetStream's error codes. */
const NATS_CODES = { consumerNotFound: 10014, streamNotFound: 10059, messageTooLarge: 10054 } as const;

export function hasNatsCode(error: unknown, name: keyof typeof NATS_CODES): boolean {
  return (error as { code?: unknown } | undefined)?.code === NATS_CODES[name];
}

/**
 * Whether a header is for the server: by these, a publisher says which duplicates to drop, what to expect of the stream,
 * and what to delete. They must not go with a copy of the message. The server would drop the copy as a duplicate and
 * confirm it, or reject it forever.
 */
export function isNatsHeader(name: string): boolean {
  return /^nats-/i.test(name);
}

/** Creates the stream if it does not exist. Another agent may create it at the same moment, which is not an error. */
export async function ensureNatsStream(
  manager: JetStreamManager,
  name: string,
  subjects: readonly string[],
): Promise<void> {
  try {
    await manager.streams.info(name);
  } catch (error) {
    if (!hasNatsCode(error, "streamNotFound")) throw error;
    await manager.streams.add({ name, subjects: [...new Set(subjects)] });
  }
}
