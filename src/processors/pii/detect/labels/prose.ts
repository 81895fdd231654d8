import { proposeSecret } from "../secrets/assigned-secret.js";
import { assigned } from "../secrets/assigned-value.js";
import { areRandomLetters } from "../secrets/long-word.js";
import { isAt, LOWER, latin1 } from "../text/characters.js";
import { ASSIGNED_SECRET } from "../text/detectors.js";
import { LABEL, PLACE, PROSE, SIGN } from "../text/evidence.js";
import { matches, NOT_FOUND } from "../text/matches.js";
import { TEXT_COST, work } from "../text/work.js";
import { PASSWORD_LABEL } from "./label-words.js";

/**
 * A password without digits after its name, and what connects them: a verb, or quotes. With digits, the value itself
 * leads to its label (see `after-label.ts`).
 */
const LINKED =
  /^(?:passw(?:or[dt]|d)|pwd?|kennwort|wachtwoord)["'\]]?(?! (?:for|of) (?:key|file|user|account|database|keyring|realm|repository) ["'])(?: (?:field|value))?(?: (?:for|of|von|f\xc3\xbcr|van|der|des|vom)(?: [^\s:=]{1,24}){1,5}(?= (?:is|was|ist|lautet|has|wurde) )| (?:for|of|von|f\xc3\xbcr) (?:user |Benutzer )?[^\s:]{1,40})?(?: (?:has been|had been|have been|was|is|wurde))?(?: now)?(?: (?:set|changed|reset|updated|entered|ge\xc3\xa4ndert|inserita|informada|ingresada|saisi))?(?: ?(?:is|was|=>|->|to|ist|lautet|war|auf)?:? {1,2})(["'`]?)/i;
/** SQL names the password of a user like that. */
const IDENTIFIED = /^identified (?:with \S+ )?by (?:password )?(?!values\b)(["'`]?)/i;
/** Messages of the program passwd. */
const OF_PASSWD = /^passwd: [a-z]+ [a-z]+ [a-z]+\b/;
/** Words that only a value follows, and words that a sentence may follow as well. */
const EXACT = /(?: (?:set|changed|reset|updated) to| lautet|:| ge\xc3\xa4ndert auf|=>|->) ["'`]?$/i;
const VERB = / (?:is|was|to|ist|war|auf) $/i;
const MAX_LENGTH = 80;

/** Words that follow `password is` in sentences that tell no password. */
const ORDINARY =
  /^(?:about|above|actually|again|allowed|already|also|always|any|asked|available|based|because|before|being|below|blank|case|checked|compared|compromised|configured|considered|currently|different|due|easy|either|equal|exactly|fine|given|going|good|here|identical|it|its|just|kept|known|long|longer|mandatory|missing|necessary|needed|never|new|now|off|old|older|only|over|part|pending|probably|public|read|ready|recommended|regenerated|saved|secure|shared|shorter|short|similar|simple|still|supplied|taken|that|their|there|therefore|this|typed|under|unchanged|unique|used|user|very|visible|what|where|which|your|you|nicht|zu|ein|eine|der|die|das|leer|kein|not)$|(?:ed|ing|ly|able|ible|ory|less)$/i;

/** Finds the password behind the word that contains the `w` at `p`, or behind `IDENTIFIED BY`, whose `I` is at `p`. */
export function findInProse(b: Uint8Array, p: number): number {
  if (!matches.isEnabled(ASSIGNED_SECRET)) return NOT_FOUND;
  work.spent += 2 * TEXT_COST;
  const isSql = (b[p]! | 32) === 105;
  const from = isSql ? p : wordStart(b, p);
  if (from < matches.lastEnd) return NOT_FOUND;
  const text = latin1(b, from, Math.min(matches.end, from + MAX_LENGTH));
  if (!isSql && isAt(b, from - 1, matches.end, LOWER)) return findOperand(b, from, text); // htpasswd, chpasswd
  const linked = (isSql ? IDENTIFIED : LINKED).exec(text);
  if (linked === null) return NOT_FOUND;
  if (OF_PASSWD.test(text)) return NOT_FOUND;
  const quote = linked[1]!;
  const start = from + linked[0].length;
  const isExact = isSql || EXACT.test(linked[0]);
  assigned.read(b, quote === "" ? start : start - 1);
  if (assigned.start >= assigned.stop) return NOT_FOUND;
  if (quote !== "" || isExact) return proposeSecret(b, PASSWORD_LABEL, LABEL | SIGN, true);
  if (areRandomLetters(b, assigned.start, assigned.stop)) return proposeSecret(b, PASSWORD_LABEL, LABEL, true);
  if (!VERB.test(linked[0])) return NOT_FOUND;
  const value = latin1(b, assigned.start, Math.min(assigned.stop, assigned.start + MAX_LENGTH));
  const isProse =
    value.length < 4 || ORDINARY.test(value) || (/ ist | war /i.test(linked[0]) && /^[a-z\x80-\xff]+$/i.test(value));
  return proposeSecret(b, PASSWORD_LABEL, LABEL | (isProse ? PROSE : 0), false);
}

/** The password among the operands of htpasswd and chpasswd, which come before the `passwd` of these words. */
// At most 80 characters.
const OPERANDS =
  /^passwd(?: -[a-zA-Z]*b[a-zA-Z]*(?: -[a-zA-Z]+)* (?:[^\s"']*[/.][^\s"']* )?["']?[\w.@-]+["']? (["']?)| <<< ["']?[\w.-]+:())/;

function findOperand(b: Uint8Array, from: number, text: string): number {
  const operands = OPERANDS.exec(text);
  if (operands === null) return NOT_FOUND;
  const start = from + operands[0].length;
  assigned.read(b, (operands[1] ?? "") === "" ? start : start - 1);
  return assigned.start < assigned.stop ? proposeSecret(b, PASSWORD_LABEL, LABEL | PLACE, true) : NOT_FOUND;
}

/** Returns the start of `passw...` or `pw...` around the `w` at `p`. */
function wordStart(b: Uint8Array, p: number): number {
  const before = b[p - 1]! | 32;
  return before === 112 ? p - 1 : before === 116 ? p - 5 : p - 4; // pw, wachtw, and passw or kennw
}
