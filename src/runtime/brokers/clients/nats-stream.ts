import type { JetStreamManager } from "@nats-io/jetstream";

/** JetStream's error codes. */
export const NATS_CODES = { consumerNotFound: 10014, streamNotFound: 10059, messageTooLarge: 10054 } as const;

export function hasNatsCode(error: unknown, code: number): boolean {
  return (error as { code?: unknown } | undefined)?.code === code;
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
    if (!hasNatsCode(error, NATS_CODES.streamNotFound)) throw error;
    await manager.streams.add({ name, subjects: [...new Set(subjects)] });
  }
}
