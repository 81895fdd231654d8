import { MASK, REDACTED } from "./detect/secrets/placeholder.js";
import { latin1 } from "./detect/text/characters.js";
import { DETECTORS, EMAIL, IPV4, IPV6 } from "./detect/text/detectors.js";
import { normalised } from "./normalise.js";
import type { Pseudonyms } from "./pseudonyms.js";

/**
 * Ways to treat a value. `redact` removes a whole field, and replaces a part of one by a fixed text; `allow` leaves the
 * value alone.
 *
 * Treating a value twice changes nothing more: no detector matches the replacements, and each strategy recognises its
 * own.
 */
export const STRATEGIES = ["mask", "hash", "partial", "redact", "allow"] as const;
export type Strategy = (typeof STRATEGIES)[number];

/** Returns the text that replaces a whole value. */
export type WholeTreatment = (text: string) => string;

/**
 * Returns the replacement for the part [start, end) of a text that a detector found. The result is ASCII, or UTF-8 read
 * as Latin-1.
 */
export type PartTreatment = (b: Uint8Array, start: number, end: number, detector: number) => string;

export function wholeTreatment(strategy: Strategy, pseudonyms: Pseudonyms): WholeTreatment {
  switch (strategy) {
    case "mask":
      return () => MASK;
    case "redact":
      return () => REDACTED;
    case "partial":
      return (text) => partialText([...text]);
    case "hash":
      return (text) => (pseudonyms.isOwn(text) ? text : pseudonyms.of(Buffer.from(text, "utf8")));
    case "allow":
      return (text) => text;
  }
}

export function partTreatment(strategy: Strategy, pseudonyms: Pseudonyms): PartTreatment {
  switch (strategy) {
    case "mask":
      return () => MASK;
    case "redact":
      return () => REDACTED;
    case "partial":
      return partialMatch;
    case "hash":
      return (b, start, end, detector) => pseudonyms.of(normalised(b, start, end, detector));
    case "allow":
      return latin1;
  }
}

/** Keeps two characters at each end if the text is long enough. Applying it again changes nothing. */
function partialText(characters: readonly string[]): string {
  if (characters.length < 8) return MASK;
  return `${characters.slice(0, 2).join("")}${MASK}${characters.slice(-2).join("")}`;
}

/**
 * Keeps the part that distinguishes people without identifying them: the host of an address, the last digits of a
 * number.
 */
function partialMatch(b: Uint8Array, start: number, end: number, detector: number): string {
  const text = latin1(b, start, end);
  switch (detector) {
    case EMAIL:
      return partialEmail(text);
    case IPV4:
      return `${text.split(".").slice(0, 2).join(".")}.${MASK}`;
    case IPV6:
      return `${text.split(":").slice(0, 2).join(":")}:${MASK}`;
    default:
      return LAST_FOUR.has(detector) ? MASK + text.slice(-4) : MASK;
  }
}

const LAST_FOUR = new Set(
  ["phone", "payment_card", "ssn", "iban", "bank_account", "national_id"].map((name) =>
    DETECTORS.indexOf(name as never),
  ),
);

/** Keeps the first character, which may have several bytes, and the host. */
function partialEmail(address: string): string {
  const [first = ""] = /^(?:[\x80-\xff][\x80-\xbf]*|.)/s.exec(address) ?? [];
  const end = address.slice(first.length).search(/@|%40/);
  return end < 0 ? address : first + MASK + address.slice(first.length + end);
}
