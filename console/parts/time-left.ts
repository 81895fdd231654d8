/** How much of a long piece of work was done at a time, in milliseconds. */
export interface WorkReading {
  readonly at: number;
  readonly done: number;
}

/** Older readings say little about the speed now. */
const WINDOW_MS = 20_000;
/** A shorter time gives no useful speed. */
const MIN_SPAN_MS = 900;

/** Adds a reading and removes those that are too old. If less is done than before, the work has begun anew. */
export function withReading(readings: readonly WorkReading[], reading: WorkReading): readonly WorkReading[] {
  const last = readings.at(-1);
  if (last !== undefined && last.done > reading.done) return [reading];
  const recent = readings.filter(({ at }) => reading.at - at <= WINDOW_MS);
  return [...recent, reading];
}

/** Units per second over the readings; undefined until there is enough to tell. */
export function speedOf(readings: readonly WorkReading[]): number | undefined {
  const [first, last] = [readings[0], readings.at(-1)];
  if (first === undefined || last === undefined || last.at - first.at < MIN_SPAN_MS) return undefined;
  return (last.done - first.done) / ((last.at - first.at) / 1000);
}

/** Milliseconds until `total` is reached at this speed; undefined if it cannot be told. */
export function timeLeft(readings: readonly WorkReading[], total: number): number | undefined {
  const speed = speedOf(readings);
  const done = readings.at(-1)?.done ?? 0;
  if (done >= total) return 0;
  return speed === undefined || speed === 0 ? undefined : ((total - done) / speed) * 1000;
}
