/** The built-in detectors, in the order of their numbers. */
export const DETECTORS = [
  "email",
  "phone",
  "payment_card",
  "ssn",
  "ipv4",
  "ipv6",
  "iban",
  "jwt",
  "bearer_token",
  "api_key",
  "url_credentials",
  "assigned_secret",
] as const;

/** One of `DETECTORS`. */
export type DetectorName = (typeof DETECTORS)[number];

export const EMAIL = 0;
export const PHONE = 1;
export const PAYMENT_CARD = 2;
export const SSN = 3;
export const IPV4 = 4;
export const IPV6 = 5;
export const IBAN = 6;
export const JWT = 7;
export const BEARER_TOKEN = 8;
export const API_KEY = 9;
export const URL_CREDENTIALS = 10;
export const ASSIGNED_SECRET = 11;

/** What a field's key says about its value. */
export const HINT_NONE = 0;
export const HINT_PHONE = 1;
export const HINT_SSN = 2;
export const HINT_VERSION = 4;
