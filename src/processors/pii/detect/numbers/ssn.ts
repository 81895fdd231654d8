import { BLANK } from "../text/ascii.js";
import { HINT_SSN, SSN } from "../text/detectors.js";
import { COMMON_FORM, FORM, GROUPED, KEY, LABEL, PLACE } from "../text/evidence.js";
import { labelWords } from "../text/lookback.js";
import { matches } from "../text/matches.js";
import { groups, groupValue } from "./digit-groups.js";

const SSN_WORDS = labelWords(["\\bssn", "social.?security", "\\bsocial\\b"]);

/**
 * Finds a US social security number, or an ITIN (the tax number of people without one, from 900 on), that begins with
 * group `i`. Returns the group after it, or 0. Nine digits without separators count only if a word or the key
 * identifies them.
 */
export function findSsn(b: Uint8Array, i: number): number {
  const size = groups.size(i);
  if (size !== 3 && size !== 9) return 0;
  if (groups.haveSizes(i, [3, 2, 4], "- ")) {
    const isBlank = groups.separators[i] === BLANK;
    if (!groups.isDetachedAfter(i + 3) || (isBlank && !isAlone(i))) return 0;
    if (!isIssued(groupValue(b, i), groupValue(b, i + 1), groupValue(b, i + 2))) return 0;
    return proposeSsn(b, i, i + 3, (isBlank ? COMMON_FORM | PLACE : FORM) | GROUPED);
  }
  if (size !== 9 || !groups.isDetachedAfter(i + 1)) return 0;
  const value = groupValue(b, i);
  if (!isIssued(Math.floor(value / 1e6), Math.floor(value / 1e4) % 100, value % 1e4)) return 0;
  if ((matches.hints & HINT_SSN) === 0 && !groups.followsWord(b, i, SSN_WORDS)) return 0;
  return proposeSsn(b, i, i + 1, FORM);
}

function proposeSsn(b: Uint8Array, from: number, to: number, form: number): number {
  const named = (matches.hints & HINT_SSN) !== 0 ? KEY : groups.followsWord(b, from, SSN_WORDS) ? LABEL : 0;
  const found = matches.propose(SSN, groups.starts[from]!, groups.ends[to - 1]!, form | named);
  return found < 0 ? 0 : to;
}

/** Whether these three groups are the only ones. */
function isAlone(i: number): boolean {
  return i === 0 && groups.count === 3;
}

function isIssued(area: number, group: number, serial: number): boolean {
  if (area >= 900) return (group >= 50 && group <= 65) || (group >= 70 && group <= 99 && group !== 89 && group !== 93);
  return area > 0 && area !== 666 && group > 0 && serial > 0;
}
