/** Keys of operators' data whose numbers are times, in milliseconds since the epoch. */
const TIME_KEYS = /^(?:at|since|until|.*At)$/;

/** For `JSON.stringify`: writes times as ISO 8601, in the API and on the command line. */
export function withIsoTimes(key: string, value: unknown): unknown {
  if (typeof value !== "number" || !TIME_KEYS.test(key)) return value;
  return Math.abs(value) <= MAX_TIME ? new Date(value).toISOString() : value;
}

/** For `JSON.parse`: reverses `withIsoTimes`. */
export function fromIsoTimes(key: string, value: unknown): unknown {
  if (typeof value !== "string" || !TIME_KEYS.test(key) || !ISO_TIME.test(value)) return value;
  return Date.parse(value);
}

/** The latest time that can be written as ISO 8601. */
const MAX_TIME = 8.64e15;
const ISO_TIME = /^[+-]?\d{4,6}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
