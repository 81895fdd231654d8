import type { Clock } from "../clock.js";
import { limitedLog } from "../limited-log.js";

/** The number of reasons that are tracked; the oldest are forgotten. */
const MAX_REASONS = 8;

/** Logs why something does not work: a new reason at once, and the same one at most once in ten seconds. */
export function reasonLog(clock: Clock, write: (reason: string, suppressed: number) => void): (reason: string) => void {
  const known = new Map<string, (reason: string) => void>();
  return (reason) => {
    let say = known.get(reason);
    if (say === undefined) {
      if (known.size >= MAX_REASONS) known.delete(known.keys().next().value!);
      known.set(reason, (say = limitedLog(clock, write)));
    }
    say(reason);
  };
}
