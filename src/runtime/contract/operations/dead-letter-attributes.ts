/**
 * The resource attributes of a dead letter that was forwarded to another exporter: what it failed of. Whoever shows it to
 * people reads them, and what has them is not forwarded again.
 */
export const DEAD_LETTER_PREFIX = "sluice.dead_letter.";

/** What is told of a dead letter, by the end of the attribute's name. */
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
  readonly failed_at: string;
  readonly replays: number;
}

/** The attributes of a dead letter among those of a resource, without their prefix; undefined when it is none. */
export function deadLetterOf(
  resource: Readonly<Record<string, unknown>>,
): Partial<Readonly<Record<keyof DeadLetterAttributes, unknown>>> | undefined {
  const own = Object.entries(resource).filter(([key]) => key.startsWith(DEAD_LETTER_PREFIX));
  if (own.length === 0) return undefined;
  return Object.fromEntries(own.map(([key, value]) => [key.slice(DEAD_LETTER_PREFIX.length), value]));
}
