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
  "mac_address",
  "date_of_birth",
  "passport",
  "national_id",
  "bank_account",
  "crypto_address",
  "driving_licence",
  "device_id",
  "health_id",
  "geo_location",
] as const;

/** Detectors that are off unless the config names them. Their numbers follow those of `DETECTORS`. */
export const OPTIONAL_DETECTORS = ["person_name", "postal_address"] as const;

export type DetectorName = (typeof DETECTORS)[number] | (typeof OPTIONAL_DETECTORS)[number];

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
export const MAC = 12;
export const DATE_OF_BIRTH = 13;
export const PASSPORT = 14;
export const NATIONAL_ID = 15;
export const BANK_ACCOUNT = 16;
export const CRYPTO_ADDRESS = 17;
export const DRIVING_LICENCE = 18;
export const DEVICE_ID = 19;
export const HEALTH_ID = 20;
export const GEO_LOCATION = 21;
export const PERSON_NAME = 22;
export const POSTAL_ADDRESS = 23;

/** Hints that a field's key gives about its value, as bits. */
export const HINT_NONE = 0;
export const HINT_PHONE = 1;
export const HINT_SSN = 2;
export const HINT_VERSION = 4;
export const HINT_NATIONAL_ID = 8;
/** The value is a name; it describes a person and may be a name; it is an address. */
export const HINT_NAME = 128;
export const HINT_PERSON = 256;
export const HINT_ADDRESS = 512;
/** The value is an address of a computer. */
export const HINT_HOST = 1024;
/** That computer belongs to a client or a person. */
export const HINT_CLIENT = 2048;
/** The kind of label that the key is (see `label-words.ts`), in the bits from this one on. */
export const HINT_LABEL_SHIFT = 16;

/** Hints about numbers. A field with one of them is searched even if its value is no text. */
export function hintsAtNumber(hints: number): boolean {
  return hints >= 1 << HINT_LABEL_SHIFT || (hints & (HINT_PHONE | HINT_SSN | HINT_NATIONAL_ID)) !== 0;
}

/** Countries with known national numbers. Those of the United States belong to the detector `ssn`. */
export const COUNTRIES = [
  ...(["gb", "de", "fr", "es", "it", "nl", "at", "be", "bg", "ch", "cz", "ee", "fi", "gr", "hr", "hu", "is"] as const),
  ...(["lt", "lu", "lv", "md", "no", "pl", "pt", "ro", "rs", "ru", "se", "si", "tr", "ua"] as const),
  ...(["ar", "br", "ca", "cl", "do", "ec", "mx", "pe", "uy"] as const),
  ...(["ae", "au", "cn", "eg", "il", "in", "ir", "jp", "kr", "kw", "kz", "nz", "sa", "sg", "th", "za"] as const),
] as const;
export type Country = (typeof COUNTRIES)[number];
