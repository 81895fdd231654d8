import { decodeGbk } from "./double-byte-text.js";

const INVALID = "\ufffd";
const TILDE = 0x7e;

/**
 * HZ (RFC 1843): ASCII, in which ~{ begins Chinese characters of two bytes each, and ~} ends them; ~~ is a tilde, and a tilde
 * before the end of a line goes with it.
 */
export function decodeHz(bytes: Uint8Array): string {
  let text = "";
  let isChinese = false;
  for (let i = 0; i < bytes.length; i++) {
    const first = bytes[i]!;
    const second = bytes[i + 1];
    if (first === TILDE && second !== undefined) {
      i++;
      if (second === 0x7b || second === 0x7d) isChinese = second === 0x7b;
      else if (second === TILDE) text += "~";
      else if (second !== 0x0a) text += INVALID;
    } else if (!isChinese) text += first < 0x80 && first !== TILDE ? String.fromCharCode(first) : INVALID;
    else if (first >= 0x80 || second === undefined || second > 0x80) text += INVALID;
    else {
      i++;
      text += pairText(first, second);
    }
  }
  return text;
}

/** The set is that of GBK without the upper bits. */
function pairText(first: number, second: number): string {
  if (first < 0x21 || first >= TILDE || second < 0x21 || second > TILDE) return INVALID;
  return decodeGbk(Uint8Array.of(first | 0x80, second | 0x80));
}
