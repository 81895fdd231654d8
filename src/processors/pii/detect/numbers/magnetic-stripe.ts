import { PERCENT } from "../text/ascii.js";
import { DIGIT, latin1, runEnd } from "../text/characters.js";
import { matches } from "../text/matches.js";
import { TEXT_COST, work } from "../text/work.js";

/**
 * The rest of a magnetic stripe, behind the number of its card: `^DOE/JANE^28052010000` on the first track, and
 * `=28052010000` on the second one, for which chips write `D28052010000F`.
 */
const STRIPE = /^(?:\^[^^?"\n]{2,26}\^\d{4,60}|[=Dd]\d{7,20}F{0,2}(?![A-Za-z\d]))/;
const MAX_STRIPE = 90;
/** The bytes between the number and the rest. */
const SIGNS = new Uint8Array(256);
for (const c of "^=Dd") SIGNS[c.charCodeAt(0)] = 1;

/** Returns the end of the magnetic stripe whose card number ends before `p`, or `p`. */
export function stripeEnd(b: Uint8Array, p: number): number {
  if (p >= matches.end || SIGNS[b[p]!] === 0) return p;
  work.spent += TEXT_COST;
  return p + (STRIPE.exec(latin1(b, p, Math.min(matches.end, p + MAX_STRIPE)))?.[0].length ?? 0);
}

const MIN_CARD = 12;

/** Whether the `%` at `p` begins a first track, as in `%B4111111111111111^`, and not the escape of a byte. */
export function beginsStripe(b: Uint8Array, p: number): boolean {
  return (
    b[p] === PERCENT &&
    b[p + 1] === 66 &&
    runEnd(b, p + 2, Math.min(matches.end, p + 2 + MIN_CARD), DIGIT) === p + 2 + MIN_CARD
  );
}
