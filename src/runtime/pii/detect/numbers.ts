import { ALNUM, BETWEEN, CHARACTER, DIGIT, isBefore, span, WORD } from "./characters.js";
import { IBAN, IPV4, PAYMENT_CARD, PHONE, SSN } from "./detectors.js";
import { groups } from "./digit-groups.js";
import { findIban } from "./iban.js";
import { findIpv4 } from "./ipv4.js";
import { matches, NOTHING } from "./match.js";
import { findPaymentCard } from "./payment-card.js";
import { findPhone } from "./phone.js";
import { findSsn } from "./ssn.js";

/** Everything that is made of digits, from the digit at `p` on. Gives the position where the scan goes on. */
export function findNumbers(b: Uint8Array, p: number): number {
  const { floor, end } = matches;
  if (isBefore(b, p, floor, WORD)) {
    const found = matches.isOn(IBAN) ? findIban(b, p) : NOTHING;
    return found === NOTHING ? span(b, p, end, ALNUM) : found;
  }
  const stop = span(b, p + 1, end, DIGIT);
  if (stop - p < 7 && !goesOn(b, stop, end)) return stop; // most numbers end here
  groups.read(b, p, end);
  if (groups.digits < 8 && groups.count < 4) return groups.after;
  for (let i = 0; i < groups.count; ) i = findAt(b, i);
  return Math.max(groups.after, matches.last);
}

/** Can there be another group of digits behind the one that ends at `p`? */
function goesOn(b: Uint8Array, p: number, end: number): boolean {
  return p + 1 < end && (CHARACTER[b[p]!]! & BETWEEN) !== 0 && (CHARACTER[b[p + 1]!]! & (DIGIT | BETWEEN)) !== 0;
}

/** Looks at the groups from `i` on; gives the group to go on with. */
function findAt(b: Uint8Array, i: number): number {
  let next = 0;
  if (i + 4 <= groups.count && matches.isOn(IPV4)) next = findIpv4(b, i);
  if (next !== 0) return next;
  if (groups.isTied(b, i, matches.floor)) return i + 1;
  if (matches.isOn(PAYMENT_CARD)) next = findPaymentCard(b, i);
  if (next === 0 && matches.isOn(SSN)) next = findSsn(b, i);
  if (next === 0 && matches.isOn(PHONE)) next = findPhone(b, i);
  return next === 0 ? i + 1 : next;
}
