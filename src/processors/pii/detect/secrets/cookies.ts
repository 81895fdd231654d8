import { NO_LABEL } from "../labels/label-words.js";
import { labelOfKey } from "../labels/labels.js";
import { latin1 } from "../text/characters.js";
import { TEXT_COST, work } from "../text/work.js";
import { isPlaceholderText } from "./placeholder.js";

/** Attributes of `Set-Cookie`, which are no cookies. */
const ATTRIBUTE = /^(?:path|domain|expires|max-age|samesite|secure|httponly|priority|partitioned|version|comment)$/i;
/** Names of cookies that keep what a visitor prefers. */
// At most 2,048 characters.
const PREFERENCE =
  /^_{0,2}(?:theme|skin|lang(?:uage)?|locale|i18n\w*|currency|country|region|tz|time_?zone|units?|\w*consent\w*|gdpr|ccpa|dnt|sidebar|layout|colou?r\w*|dark_?mode|font\w*|view|sort|order|page_?size|per_?page|zoom|volume|quality|ab_?\w*|variant|experiment|bucket|banner\w*|dismissed\w*|seen\w*|tour\w*|utm_\w+)$/i;
const MIN_NAMED = 4;
const MIN_RANDOM = 8;
const MIN_DIGITS = 6;
/** The cookies in this many bytes decide. */
const MAX_BYTES = 2048;

/**
 * Returns the position of the value of the first cookie in [start, stop) that may identify a visitor, or -1. Cookies
 * with preferences, such as `theme=dark`, do not identify a person.
 */
export function firstSecretCookie(b: Uint8Array, start: number, stop: number): number {
  const text = latin1(b, start, Math.min(stop, start + MAX_BYTES));
  work.spent += TEXT_COST + text.length;
  for (let at = 0; at < text.length; ) {
    const end = text.indexOf(";", at) < 0 ? text.length : text.indexOf(";", at);
    const sign = text.indexOf("=", at);
    if (sign > 0 && sign < end) {
      const name = text.slice(at, sign).trim();
      if (isSecret(name, text.slice(sign + 1, end).trim())) return start + sign + 1;
    }
    at = end + 1;
  }
  return stop - start > MAX_BYTES ? start : -1;
}

function isSecret(name: string, value: string): boolean {
  if (ATTRIBUTE.test(name) || PREFERENCE.test(name) || isPlaceholderText(value)) return false;
  if (value.length >= MIN_NAMED && labelOfKey(name) !== NO_LABEL) return true;
  if (/^\d+$/.test(value)) return value.length >= MIN_DIGITS;
  // At most 2,048 characters.
  return value.length >= MIN_RANDOM && (/\d/.test(value) || /[A-Z].*[a-z].*[A-Z]|^[a-z]{20,}$/.test(value));
}
