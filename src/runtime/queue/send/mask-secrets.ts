const MASK = "[REDACTED]";

const PATTERNS: readonly (readonly [RegExp, string])[] = [
  [/\b(bearer|basic)\s+[\w.~+/=-]{8,}/gi, `$1 ${MASK}`],
  [/\beyJ[\w-]{5,}\.[\w-]+\.?[\w-]*/g, MASK],
  [/(:\/\/)[^/?#\s@]+@/g, `$1${MASK}@`],
  [/((?:password|passwd|pwd|secret|authorization|cookie)["']?\s*[:=]\s*["']?)[^\s"',;&}]+/gi, `$1${MASK}`],
  // "token: expired" says why; only what looks made up is taken for one.
  [/((?:token|key)["']?\s*[:=]\s*["']?)(?=[^\s"',;&}]*\d|[^\s"',;&}]{20})[^\s"',;&}]{6,}/gi, `$1${MASK}`],
];

/** What a backend said, without the credentials that it may have echoed: it is kept with the entry, and shown. */
export function maskSecrets(text: string): string {
  return PATTERNS.reduce((masked, [pattern, replacement]) => masked.replace(pattern, replacement), text);
}
