/**
 * Masking of text that comes from outside: answers of backends, messages of brokers and plugins, names in records.
 * Every way to people goes through these functions: the log, the operators' interface, metrics and notifications. Only
 * the values that the detectors find are replaced, so the rest of a message still tells what happened.
 */

/** Masks the values in a text. With `keepsAddresses`, IP addresses stay. */
type TextMask = (text: string, keepsAddresses: boolean) => string;

let installed: TextMask | undefined;

/**
 * Sets the mask of this process. Every agent installs the same one before it starts. Without it, `maskText` masks
 * credentials only, and `maskRecordText` masks everything.
 */
export function useTextMask(mask: TextMask): void {
  if (installed === mask) return;
  installed = mask;
  knownTexts.clear();
  knownRecordTexts.clear();
}

/** Masks a message. IP addresses stay, because they tell which server failed. */
export function maskText(text: string): string {
  if (LISTEN_ADDRESS.test(text)) return text;
  return masked(text, knownTexts, (whole) => (installed === undefined ? maskSecrets(whole) : installed(whole, true)));
}

/** Masks a text that was taken from a record, such as an event's name. */
export function maskRecordText(text: string): string {
  return masked(text, knownRecordTexts, (whole) => (installed === undefined ? MASK : installed(whole, false)));
}

/**
 * Returns a copy of a value in which every text is masked, also in keys, lists, maps and errors. Values of keys in
 * `kept` stay as they are, at any depth.
 */
export function maskStrings<T>(value: T, kept: ReadonlySet<string> = NOTHING_KEPT): T {
  return new ValueMask(kept).mask(value, 0) as T;
}

/**
 * The address of a listener, which every start logs. It stays, as IP addresses do, and there is no room in it for
 * anything else: to look would make the detectors build their tables at every start.
 */
const LISTEN_ADDRESS =
  /^(?:https?:\/\/)?(?:localhost|\d{1,3}(?:\.\d{1,3}){3}|\[[\da-f:]{2,39}\]):\d{1,5}(?:\/(?:metrics)?)?$/;

const MASK = "****";
const NOTHING_KEPT: ReadonlySet<string> = new Set();
/** Values that are deeper, or come after so many others, are masked as a whole: a plugin may log any object. */
const MAX_DEPTH = 16;
const MAX_VALUES = 100_000;

/** The same few texts are shown again and again. Longer ones are not remembered. */
const knownTexts = new Map<string, string>();
const knownRecordTexts = new Map<string, string>();
const MAX_KNOWN = 4096;
const MAX_KNOWN_LENGTH = 256;

/** The id of an entry. A few of them look like account numbers, and people need them to find the entry. */
const ENTRY_ID = /^[0-9a-f]{2}(?=\d*[a-f])[0-9a-f]{14}-\d{1,15}$/;

function masked(text: string, known: Map<string, string>, mask: (text: string) => string): string {
  const before = known.get(text);
  if (before !== undefined) return before;
  if (ENTRY_ID.test(text)) return text;
  const result = safely(text, mask);
  if (text.length > MAX_KNOWN_LENGTH) return result;
  if (known.size >= MAX_KNOWN) known.clear();
  known.set(text, result);
  return result;
}

/** A text that cannot be masked is not shown at all. */
function safely(text: string, mask: (text: string) => string): string {
  try {
    return mask(text);
  } catch {
    return MASK;
  }
}

class ValueMask {
  private readonly kept: ReadonlySet<string>;
  private values = 0;

  constructor(kept: ReadonlySet<string>) {
    this.kept = kept;
  }

  mask(value: unknown, depth: number): unknown {
    if (this.values++ >= MAX_VALUES) return MASK;
    if (typeof value === "string") return maskText(value);
    if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return value;
    if (depth === MAX_DEPTH) return MASK;
    if (value instanceof Error) return this.error(value, depth);
    if (Array.isArray(value)) return value.map((item) => this.mask(item, depth + 1));
    const { toJSON } = value as { toJSON?: unknown };
    if (typeof toJSON === "function") return this.mask(toJSON.call(value), depth + 1);
    return Object.fromEntries(this.members(value, depth));
  }

  private members(value: object, depth: number): (readonly [string, unknown])[] {
    return Object.entries(value).map(([key, member]) =>
      this.kept.has(key) ? [key, member] : [maskText(key), this.mask(member, depth + 1)],
    );
  }

  /** The copy has the same class and members, and masked texts. */
  private error(error: Error, depth: number): Error {
    const { message, stack, cause } = error;
    const isMember = Object.prototype.propertyIsEnumerable.call(error, "cause"); // it is masked with the other members
    const own = {
      message: maskText(message),
      ...(stack !== undefined && { stack: maskText(stack) }),
      ...(cause !== undefined && !isMember && { cause: this.mask(cause, depth + 1) }),
    };
    const hidden = Object.entries(own).map(([key, value]) => [key, { value, writable: true, configurable: true }]);
    const copy = Object.create(Object.getPrototypeOf(error), Object.fromEntries(hidden)) as Error;
    return Object.assign(copy, Object.fromEntries(this.members(error, depth)));
  }
}

const SECRET_MASK = "[REDACTED]";

const PATTERNS: readonly (readonly [RegExp, string])[] = [
  [/\b(bearer|basic)\s+[\w.~+/=-]{8,}/gi, `$1 ${SECRET_MASK}`],
  // Linear: it starts once in a run of these characters.
  [/(?<![\w-])eyJ[\w-]{5,}\.[\w-]+\.?[\w-]*/g, SECRET_MASK],
  [/(:\/\/)[^/?#\s@]+@/g, `$1${SECRET_MASK}@`],
  // Linear: a name and its sign are followed by a value, or else end at once.
  [/((?:password|passwd|pwd|secret|authorization|cookie)["']?\s*[:=]\s*["']?)[^\s"',;&}]+/gi, `$1${SECRET_MASK}`],
  // "token: expired" is a reason, not a secret. Only values that look random are masked.
  // Linear: only a value of less than 20 characters is read and not matched.
  [/((?:token|key)["']?\s*[:=]\s*["']?)(?=[^\s"',;&}]*\d|[^\s"',;&}]{20})[^\s"',;&}]{6,}/gi, `$1${SECRET_MASK}`],
];

/** Masks credentials by their form alone. Used where the detectors are not loaded. */
function maskSecrets(text: string): string {
  return PATTERNS.reduce((masked, [pattern, replacement]) => masked.replace(pattern, replacement), text);
}
