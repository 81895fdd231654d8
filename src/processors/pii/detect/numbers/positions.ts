import { DOT } from "../text/ascii.js";
import { DIGIT, latin1, runEnd } from "../text/characters.js";
import { ASSIGNED_SECRET, GEO_LOCATION } from "../text/detectors.js";
import { FORM, LABEL, PLACE, UNIQUE_FORM } from "../text/evidence.js";
import { matches, NOT_FOUND, RULED_OUT } from "../text/matches.js";
import { TEXT_COST, work } from "../text/work.js";

/** A latitude and a longitude with five decimals or more. */
// At most 64 characters.
const PAIR = /^-?([0-8]?\d)\.\d{5,16}, ?-?(1?\d?\d)\.\d{5,16}(?![\d.]|, ?-?\d+(?!\d*z\b))/;
/** Labels in front of a person's position. */
// At most 32 characters.
const BEFORE_PAIR =
  /(?:\b(?:at|near|around|from|to|towards|in|position|location|gps|fix|geo\w*|home|user\S{0,20})|[?&]\w{1,8}=|@)[ :=]{0,2}[([]?$/i;
/** Words about a person's position, further in front of it. */
const NEAR_PAIR = new RegExp(
  Buffer.from(
    "standort|ubicaci|posici|posiz|position|locati|locali|location|coord|koord|latlng|lat.?lon|координат|местоположен|расположен|pickup|dropoff|drop-off|" +
      "driver|fahrer|rider|courier|livreur|repartidor|passenger|konum|位置|坐标|座標|現在地|위치|좌표|الموقع|standplats|sijainti|lokaliz|poloha|helyzet",
  ).toString("latin1"),
  "i",
);
const MAX_NEAR = 56;
const DEGREES =
  /^\d{1,3}\xc2\xb0 ?\d{1,2}(?:'|\xe2\x80\xb2) ?[\d.]{1,8}(?:"|''|\xe2\x80\xb3) ?[NS],? ?\d{1,3}\xc2\xb0 ?\d{1,2}(?:'|\xe2\x80\xb2) ?[\d.]{1,8}(?:"|''|\xe2\x80\xb3) ?[EWO]/;
const MIN_DECIMALS = 5;
const MAX_BEFORE = 32;
const MAX_PAIR = 64;

/** Finds a position whose first digit is at `p` and ends at `stop`: two decimal numbers, or degrees and minutes. */
export function findPosition(b: Uint8Array, p: number, stop: number): number {
  const isDegrees = b[stop] === 0xc2 && b[stop + 1] === 0xb0;
  if (!isDegrees && (b[stop] !== DOT || runEnd(b, stop + 1, matches.end, DIGIT) - stop <= MIN_DECIMALS))
    return RULED_OUT;
  const start = p > matches.lastEnd && b[p - 1] === 45 ? p - 1 : p;
  work.spent += 3 * TEXT_COST;
  const text = latin1(b, start, Math.min(matches.end, start + MAX_PAIR));
  const degrees = isDegrees ? DEGREES.exec(text) : null;
  if (degrees !== null) return matches.propose(GEO_LOCATION, start, start + degrees[0].length, UNIQUE_FORM);
  const pair = PAIR.exec(text);
  if (pair === null || Number(pair[1]) > 90 || Number(pair[2]) > 180) return NOT_FOUND;
  const before = latin1(b, Math.max(matches.floor, start - MAX_NEAR), start);
  if (!BEFORE_PAIR.test(before.slice(-MAX_BEFORE)) && !NEAR_PAIR.test(before)) {
    matches.hasBarePosition = true;
    return NOT_FOUND;
  }
  return matches.propose(GEO_LOCATION, start, start + pair[0].length, FORM | PLACE);
}

/** Degrees and minutes as receivers of GPS write them: `5226.0244,N,01094.6011,E`. */
const NMEA = /^\d{4}\.\d{2,7},[NS],\d{5}\.\d{2,7},[EW](?!\w)/;

/** Finds the position in a sentence of NMEA, whose first four digits are [p, stop). */
export function findNmea(b: Uint8Array, p: number, stop: number): number {
  if (stop - p !== 4 || b[stop] !== DOT) return RULED_OUT;
  work.spent += TEXT_COST;
  const position = NMEA.exec(latin1(b, p, Math.min(matches.end, p + MAX_PAIR)));
  return position === null ? NOT_FOUND : matches.propose(GEO_LOCATION, p, p + position[0].length, UNIQUE_FORM);
}

const CODE_AFTER = /^ (?:is|as) (?:your|the|ihr) (?:[\w-]+ ){0,4}(?:code|otp|pin|passcode|password|tan)\b/i;

/** Whether `is` or `as` follows behind the space at `p`, and so perhaps the name of the number before it. */
export function mayBeNamedBehind(b: Uint8Array, p: number): boolean {
  return b[p + 2] === 115 && b[p + 3] === 32 && ((b[p + 1]! | 32) === 105 || (b[p + 1]! | 32) === 97);
}

/** Finds a one-time code [p, stop) that is named behind it: `123456 is your verification code`. */
export function findNamedCode(b: Uint8Array, p: number, stop: number): number {
  const size = stop - p;
  if (size < 4 || size > 8 || b[stop] !== 32 || !mayBeNamedBehind(b, stop)) return RULED_OUT;
  work.spent += TEXT_COST;
  if (!CODE_AFTER.test(latin1(b, stop, Math.min(matches.end, stop + MAX_PAIR)))) return NOT_FOUND;
  return matches.propose(ASSIGNED_SECRET, p, stop, FORM | LABEL);
}
