/**
 * Values as the Collector writes them: it reads them with Go's drivers, and prints them as Go does. A value that is not
 * as expected stays as it is.
 */

import { withoutEnd } from "#text";
import { goNumber } from "#text/go";

/** A double as Go prints it. */
export function doubleText(text: string): string {
  const value = Number(text);
  return text.trim() === "" || Number.isNaN(value) ? text : goNumber(value);
}

/** An integer without the zeros that a column with ZEROFILL has. */
export function integerText(text: string): string {
  return /^-?0\d/.test(text) && /^-?\d+$/.test(text) ? String(BigInt(text)) : text;
}

/** A date, time of day or timestamp of a server as RFC 3339. A time without a zone is UTC. */
export function timeText(text: string): string {
  const [, date, clock, fraction = "", sign, hours, minutes = "00"] = TIME.exec(text) ?? [];
  if (date === undefined && clock === undefined) return text;
  if (date === "0000-00-00") return "0001-01-01T00:00:00Z";
  const digits = withoutEnd(fraction, "0");
  const isUtc = sign === undefined || (Number(hours) === 0 && Number(minutes) === 0);
  const zone = isUtc ? "Z" : `${sign}${hours}:${minutes}`;
  return `${date ?? "0000-01-01"}T${clock ?? "00:00:00"}${digits === "" ? "" : `.${digits}`}${zone}`;
}

const TIME =
  /^(?=.)(\d{4}-\d\d-\d\d)?(?:(?:^|[ T])(\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(?:([+-])(\d\d)(?::?(\d\d))?(?::\d\d)?)?)?$/;

/** Bytes as a server writes them in hexadecimal. */
export function bytesText(text: string): string {
  return /^\\x(?:[0-9a-f]{2})*$/i.test(text) ? Buffer.from(text.slice(2), "hex").toString("utf8") : text;
}
