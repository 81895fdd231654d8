/**
 * Prefix of the resource attributes that describe the failure of a forwarded dead letter. Exporters that show it to
 * people read them, and data that has them is not forwarded again.
 */
export const DEAD_LETTER_PREFIX = "sluice.dead_letter.";

/** The described properties, by the last part of the attribute's name. */
export interface DeadLetterAttributes {
  readonly id: string;
  readonly exporter: string;
  readonly pipeline: string;
  readonly reason: string;
  readonly category: string;
  readonly error: string;
  readonly message: string;
  readonly signature: string;
  readonly attempts: number;
  readonly records: number;
  readonly first_failed_at: string;
  readonly failed_at: string;
  /** The receiver that it came from. */
  readonly receiver: string;
  readonly replays: number;
}

/** Returns the dead-letter attributes of a resource, without their prefix; undefined if there are none. */
export function deadLetterOf(
  resource: Readonly<Record<string, unknown>>,
): Partial<Readonly<Record<keyof DeadLetterAttributes, unknown>>> | undefined {
  const own = Object.entries(resource).filter(([key]) => key.startsWith(DEAD_LETTER_PREFIX));
  if (own.length === 0) return undefined;
  return Object.fromEntries(own.map(([key, value]) => [key.slice(DEAD_LETTER_PREFIX.length), value]));
}
