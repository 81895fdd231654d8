import { glob } from "#contract/schema";
import { KeyCache } from "#otlp/bytes";
import {
  BIRTH_LABEL,
  CARD_CODE_LABEL,
  CODE_LABEL,
  NATIONAL_LABEL,
  OTHER_LABEL,
  PASSWORD_LABEL,
  PHONE_LABEL,
  SECRET_LABEL,
  SSN_LABEL,
} from "./detect/labels/label-words.js";
import { labelOfKey } from "./detect/labels/labels.js";
import { ADDRESS_LABELS } from "./detect/people/address-words.js";
import { NAME_LABELS, STRONG_LABEL } from "./detect/people/name-lists.js";
import {
  HINT_ADDRESS,
  HINT_CLIENT,
  HINT_HOST,
  HINT_LABEL_SHIFT,
  HINT_NAME,
  HINT_NATIONAL_ID,
  HINT_NONE,
  HINT_PERSON,
  HINT_PHONE,
  HINT_SSN,
  HINT_VERSION,
} from "./detect/text/detectors.js";
import { work } from "./detect/text/work.js";
import type { Strategy } from "./strategies.js";

/** The decision about a field that follows from its name. */
export interface FieldRule {
  readonly path: string;
  /** The strategy for the whole value. If undefined, the detectors decide. */
  readonly strategy: Strategy | undefined;
  /** Whether a rule of the config or the name of the key decided. Used by the counters. */
  readonly decidedBy: "field" | "secret_key";
  /** Hints for the detectors. */
  readonly hints: number;
  /**
   * Which values the name of the key makes secret: `any`; all but words for a status (`auth: enabled`); those with
   * credentials in them (`connection_string`); or only those that look random (`session.id`).
   */
  readonly secrets: SecretValues;
}

type SecretValues = "any" | "no_status" | "credentials" | "random";

export interface FieldRuleSettings {
  /** Strategies by key or dotted path. `*` stands for any text. */
  readonly fields: ReadonlyMap<string, Strategy>;
  /** The strategy for fields whose name says that they hold a secret; undefined leaves them alone. */
  readonly secretKeys: Strategy | undefined;
}

/**
 * Decides about fields by their key and path. A rule applies to a field if it equals the field's key, or its path from
 * the attribute or from `body` down. Exact rules win over rules with `*`, which apply in the order of the config. Both
 * win over what the name of the key suggests. A limited number of decisions is remembered.
 */
export class FieldRules {
  private readonly settings: FieldRuleSettings;
  private readonly globs: readonly (readonly [matches: (text: string) => boolean, strategy: Strategy])[];
  private readonly byKey = new KeyCache((b, start, end) => {
    const key = Buffer.prototype.utf8Slice.call(b, start, end);
    return this.createRule(key, key);
  });
  private byPath = new Map<string, FieldRule>();

  constructor(settings: FieldRuleSettings) {
    this.settings = settings;
    this.globs = [...settings.fields].filter(([rule]) => rule.includes("*")).map(([rule, to]) => [glob(rule), to]);
  }

  /** Returns the rule for the attribute whose key is [start, end) of `b`. */
  forAttribute(b: Uint8Array, start: number, end: number): FieldRule {
    return this.byKey.get(b, start, end);
  }

  /** Returns the rule for a member of a map, or for the body. */
  forMember(parent: FieldRule | undefined, key: string): FieldRule {
    const path = parent === undefined ? key : `${parent.path}.${key}`;
    if (path.length > MAX_KEY_LENGTH) work.spent += path.length;
    let field = this.byPath.get(path);
    if (field === undefined) {
      field = this.createRule(key, path);
      if (this.byPath.size >= MAX_PATHS) this.byPath = new Map();
      if (path.length <= MAX_KEY_LENGTH) this.byPath.set(path, field);
    }
    return field;
  }

  private createRule(key: string, path: string): FieldRule {
    work.spent += RULE_COST;
    const { fields, secretKeys } = this.settings;
    const configured =
      fields.get(path) ?? fields.get(key) ?? this.globs.find(([matches]) => matches(path) || matches(key))?.[1];
    const name = key.slice(-MAX_KEY_LENGTH); // its last words decide
    const label = labelOfKey(name);
    const secrets = configured === undefined ? secretValues(name, label) : undefined;
    const suggested = secrets === undefined ? undefined : secretKeys;
    return {
      path,
      strategy: configured ?? suggested,
      decidedBy: configured === undefined ? "secret_key" : "field",
      hints: hintsOf(name, label),
      secrets: secrets ?? "any",
    };
  }
}

/** Returns which values of a field of this name are secret; undefined if none are. */
function secretValues(key: string, label: number): SecretValues | undefined {
  if (isSecretKey(key)) return STATUS_KEY.test(key) ? "no_status" : CONNECTION_KEY.test(key) ? "credentials" : "any";
  if (label === PASSWORD_LABEL || label === CODE_LABEL || label === CARD_CODE_LABEL) return "any";
  return label === SECRET_LABEL ? "random" : undefined;
}

/** Keys of values that may hold a password. */
const CONNECTION_KEY = /connection[^a-z]?string$/i;

/** Keys that may hold a status or a map of settings as well. */
const STATUS_KEY = /(?:^|[^a-z])(?:auth|credentials?)$|(?:Auth|Credentials?)$/i;

/** Returns the hints that the last word of a key gives about the value. */
function hintsOf(key: string, label: number): number {
  if (/(?:version|firmware)$/i.test(key)) return HINT_VERSION;
  if (/(?:phone|mobile|msisdn|fax|telephone|(?:^|[._-])(?:tel|cell|sms|phone_?number))(?:[._-]?number)?$/i.test(key))
    return HINT_PHONE;
  if (/(?:ssn|social[._-]?security(?:[._-]?number)?)$/i.test(key)) return HINT_SSN;
  if (
    /(?:^|[._-])(?:ip|ip_?addr(?:ess)?|addr|host|peer|client_?ip|remote_?(?:addr|ip|host)|(?:client|server|peer|source|destination)[._-]address)$|Ip$|IP$/i.test(
      key,
    )
  )
    return CLIENT_KEY.test(key) ? HINT_HOST | HINT_CLIENT : HINT_HOST;
  if (CLIENT_KEY.test(key)) return HINT_CLIENT;
  if (label === PHONE_LABEL && !/id$/i.test(key)) return HINT_PHONE;
  if (label === SSN_LABEL) return HINT_SSN;
  const kind = label >= BIRTH_LABEL && label < OTHER_LABEL ? label << HINT_LABEL_SHIFT : HINT_NONE;
  if (label === NATIONAL_LABEL) return kind | HINT_NATIONAL_ID;
  if (kind !== HINT_NONE) return kind;
  return hintsOfPeople(key);
}

/** Keys of addresses that belong to a client or a person. */
const CLIENT_KEY =
  /(?:client|remote|peer|visitor|customer|subscriber|caller|(?:^|[^a-z])(?:end)?user|framed)[._-]?(?:ip|ip[._-]?addr(?:ess)?|addr(?:ess)?|host|socket[._-]?address)$|(?:^|[._-])(?:client|peer|remote|xff|rhost)$|forwarded[._-]?for$|(?:real|connecting)[._-]?ip$/i;

/** Work units of deciding about a name. */
const RULE_COST = 1000;
const MAX_PATHS = 4096;
const MAX_KEY_LENGTH = 256;

const SECRET_WORDS = new Set(
  (
    "password passwd passphrase pwd pass secret token apikey authorization auth cookie credential credentials " +
    "cvv cvc otp jwt bearer dsn htpasswd"
  ).split(" "),
);
const SECRET_WORD_PAIRS =
  /(?:^|_)(?:(?:api|auth|private|access|secret|encryption|signing|ingestion|license|licence|account|storage|shared|master|session)_key|access_key_id|set_cookie|connection_string|client_secret|secret_access_key|pin_code|security_code|card_verification)$/;

/** Endings that are no part of other words, so they count within a word too: PGPASSWORD, userpassword. */
const SECRET_ENDINGS = /(?:password|passwd|passphrase)$/;

/**
 * Whether a field of this name holds a secret. The last word decides: `db.password`, `X-Api-Key`, `APIToken`, `cookies`
 * and `password[0]` do; `token_count`, `tokens`, `password_changed_at` and `process_token_renewal_completed` do not.
 */
function isSecretKey(key: string): boolean {
  const folded = key
    .replace(/([a-z\d])([A-Z])/g, "$1_$2")
    .replace(/([A-Z])([A-Z][a-z])/g, "$1_$2")
    .replace(/[^a-zA-Z\d]+/g, "_")
    .toLowerCase()
    .replace(/^(.*(?:passw(?:or)?d|secret|token|key|cookie))_?\d*_*$/, "$1");
  return (
    isSecretName(folded) || (folded.endsWith("s") && !folded.endsWith("tokens") && isSecretName(folded.slice(0, -1)))
  );
}

function isSecretName(folded: string): boolean {
  return (
    SECRET_WORDS.has(folded.slice(folded.lastIndexOf("_") + 1)) ||
    SECRET_WORD_PAIRS.test(folded) ||
    SECRET_ENDINGS.test(folded)
  );
}

/** Returns the hints about people that the last words of a key give: `user.first_name`, `shippingAddress`. */
function hintsOfPeople(key: string): number {
  const words = key
    .replace(/([a-z\d])([A-Z])/g, "$1_$2")
    .toLowerCase()
    .split(/[^\p{L}]+/u)
    .filter((word) => word !== "");
  let hint = HINT_NONE;
  for (let from = words.length - 1; from >= 0 && from >= words.length - 3; from--) {
    const label = words.slice(from).join("");
    if (ADDRESS_LABELS.has(label)) return HINT_ADDRESS;
    const kind = NAME_LABELS.get(label);
    if (kind === STRONG_LABEL) return HINT_NAME;
    if (kind !== undefined) hint = HINT_PERSON;
  }
  return hint;
}
