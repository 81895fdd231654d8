const MASK = "[REDACTED]";

const PATTERNS: readonly (readonly [RegExp, string])[] = [
  [/\b(bearer|basic)\s+[\w.~+/=-]{8,}/gi, `$1 ${MASK}`],
  // Linear: it starts once in a run of these characters.
  [/(?<![\w-])eyJ[\w-]{5,}\.[\w-]+\.?[\w-]*/g, MASK],
  [/(:\/\/)[^/?#\s@]+@/g, `$1${MASK}@`],
  // Linear: a name and its sign are followed by a value, or else end at once.
  [/((?:password|passwd|pwd|secret|authorization|cookie)["']?\s*[:=]\s*["']?)[^\s"',;&}]+/gi, `$1${MASK}`],
  // "token: expired" is a reason, not a secret. Only values that look random are masked.
  // Linear: only a value of less than 20 characters is read and not matched.
  [/((?:token|key)["']?\s*[:=]\s*["']?)(?=[^\s"',;&}]*\d|[^\s"',;&}]{20})[^\s"',;&}]{6,}/gi, `$1${MASK}`],
];

/** Masks credentials by their form alone. Used where the detectors are not loaded. */
export function maskSecrets(text: string): string {
  return PATTERNS.reduce((masked, [pattern, replacement]) => masked.replace(pattern, replacement), text);
}
