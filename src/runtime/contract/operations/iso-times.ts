/** Keys of what operators are told whose numbers are moments, in milliseconds since the epoch inside the agent. */
const TIME_KEYS = /^(?:at|since|until|.*At)$/;

/** For `JSON.stringify`: moments are ISO 8601 outside, in the API as on the command line. */
export function withIsoTimes(key: string, value: unknown): unknown {
  if (typeof value !== "number" || !TIME_KEYS.test(key)) return value;
  return Math.abs(value) <= MAX_TIME ? new Date(value).toISOString() : value;
}

/** For `JSON.parse`, the way back. */
export function fromIsoTimes(key: string, value: unknown): unknown {
  if (typeof value !== "string" || !TIME_KEYS.test(key) || !ISO_TIME.test(value)) return value;
  return Date.parse(value);
}

/** The last moment that has an ISO text. */
const MAX_TIME = 8.64e15;
const ISO_TIME = /^[+-]?\d{4,6}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
