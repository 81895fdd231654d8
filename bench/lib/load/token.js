/**
 * The number of every benchmark record. The sink recognises by it which records arrived, from the bytes alone, whatever
 * their encoding: `#rec=RRRRNNNNNNNIIII`, which is run, request and index in the request, in decimal.
 *
 * The text is ASCII of fixed length in an attribute's string value: protobuf and JSON contain the same bytes, and the
 * generator can patch run and request in place.
 */
const MARKER = Buffer.from("#rec=");
const RUN_DIGITS = 4;
const REQUEST_DIGITS = 7;
const INDEX_DIGITS = 4;
const PATCHED = RUN_DIGITS + REQUEST_DIGITS;
const TOKEN_LENGTH = MARKER.length + PATCHED + INDEX_DIGITS;

/** @param {number} run @param {number} request @param {number} index */
export function token(run, request, index) {
  return `${MARKER}${pad(run, RUN_DIGITS)}${pad(request, REQUEST_DIGITS)}${pad(index, INDEX_DIGITS)}`;
}

/** Offsets of the tokens in a body. @param {Buffer} body @returns {number[]} */
export function tokenOffsets(body) {
  const offsets = [];
  for (let p = body.indexOf(MARKER); p >= 0; p = body.indexOf(MARKER, p + TOKEN_LENGTH)) offsets.push(p);
  return offsets;
}

/** Writes run and request into every token. @param {Buffer} body @param {number[]} offsets */
export function stamp(body, offsets, /** @type {number} */ run, /** @type {number} */ request) {
  const digits = Buffer.from(pad(run, RUN_DIGITS) + pad(request, REQUEST_DIGITS), "latin1");
  for (const offset of offsets) {
    const at = offset + MARKER.length;
    for (let i = 0; i < PATCHED; i++) body[at + i] = digits[i];
  }
}

/**
 * Calls `found(run, request, index)` for every token of a body. Records of one request have the same length, so the
 * next token is first expected at the distance of the last two, and only then searched.
 *
 * @param {Buffer} body @param {(run: number, request: number, index: number) => void} found
 */
export function eachToken(body, found) {
  let at = body.indexOf(MARKER);
  let stride = 0;
  while (at >= 0) {
    const digits = at + MARKER.length;
    found(
      number(body, digits, RUN_DIGITS),
      number(body, digits + RUN_DIGITS, REQUEST_DIGITS),
      number(body, digits + PATCHED, INDEX_DIGITS),
    );
    const next = stride > 0 && isMarker(body, at + stride) ? at + stride : body.indexOf(MARKER, at + TOKEN_LENGTH);
    stride = next - at;
    at = next;
  }
}

function isMarker(/** @type {Buffer} */ body, /** @type {number} */ at) {
  for (let i = 0; i < MARKER.length; i++) if (body[at + i] !== MARKER[i]) return false;
  return true;
}

function number(/** @type {Buffer} */ body, /** @type {number} */ at, /** @type {number} */ digits) {
  let value = 0;
  for (let i = 0; i < digits; i++) value = value * 10 + body[at + i] - 48;
  return value;
}

function pad(/** @type {number} */ value, /** @type {number} */ digits) {
  const text = String(value).padStart(digits, "0");
  if (text.length > digits) throw new RangeError(`${value} has more than ${digits} digits`);
  return text;
}
