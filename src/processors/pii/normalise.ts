import { latin1 } from "./detect/text/characters.js";
import {
  BANK_ACCOUNT,
  EMAIL,
  IBAN,
  IPV6,
  MAC,
  NATIONAL_ID,
  PASSPORT,
  PAYMENT_CARD,
  PERSON_NAME,
  PHONE,
  POSTAL_ADDRESS,
  SSN,
} from "./detect/text/detectors.js";

/** Numbers whose spaces, dots and dashes carry no meaning, and whose letters are capitals. */
const NUMBERS = new Set([PAYMENT_CARD, SSN, IBAN, NATIONAL_ID, BANK_ACCOUNT, PASSPORT]);

/**
 * Returns the value [start, end) in the form that is hashed. It is the same for the same value however it is written:
 * with spaces or dashes, with capitals, or with URL escapes. Kinds that have only one form stay unchanged.
 */
export function normalised(b: Uint8Array, start: number, end: number, detector: number): Uint8Array | string {
  if (detector === EMAIL) return unescaped(b, start, end).toLowerCase();
  if (detector === PHONE)
    return unescaped(b, start, end)
      .replace(/\(0\)|\D/g, "")
      .replace(/^00/, "");
  if (detector === MAC)
    return latin1(b, start, end)
      .replace(/[^\da-f]/gi, "")
      .toLowerCase();
  if (detector === IPV6) return shortestIpv6(unescaped(b, start, end));
  if (detector === PERSON_NAME || detector === POSTAL_ADDRESS)
    return unescaped(b, start, end)
      .normalize("NFC")
      .replace(/[^\p{L}\p{N}]+/gu, " ")
      .toLowerCase();
  if (NUMBERS.has(detector))
    return unescaped(b, start, end)
      .replace(/[^\p{L}\p{N}]/gu, "")
      .toUpperCase();
  return b.subarray(start, end);
}

function unescaped(b: Uint8Array, start: number, end: number): string {
  const text = Buffer.prototype.utf8Slice.call(b, start, end);
  if (!text.includes("%")) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Returns the shortest form, as in URLs: without leading zeros, and with the longest run of zeros left out. */
function shortestIpv6(text: string): string {
  try {
    return new URL(`http://[${text}]`).hostname;
  } catch {
    return text.toLowerCase();
  }
}
