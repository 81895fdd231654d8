import { REDACTED, withoutUrlSecrets } from "#contract/schema";
import { isSecretKey } from "./find-secrets.js";

/**
 * Masks parts of a text that look like secrets: user, password, query and parts of the path in URLs; anywhere keys with
 * a well-known prefix, values assigned to a word such as `password`, literals that OTTL assigns to or compares with an
 * attribute of such a name, and long words that look random.
 */
export function withoutSecretTexts(text: string): string {
  const cleared = withoutUrlSecrets(text)
    .replace(KNOWN_KEY, REDACTED)
    .replace(ASSIGNED, `$1${REDACTED}`)
    .replace(LITERAL, (whole: string, before: string, key: string) =>
      isSecretKey(key) ? `${before}"${REDACTED}"` : whole,
    );
  let shown = "";
  let at = 0;
  for (let colon = cleared.indexOf("://"); colon >= 0; colon = cleared.indexOf("://", colon + 1)) {
    const start = schemeStart(cleared, at, colon);
    if (start === colon) continue;
    AFTER_SCHEME.lastIndex = colon;
    const [whole, origin, rest = ""] = AFTER_SCHEME.exec(cleared)!;
    shown += masked(cleared.slice(at, start), isRandom) + cleared.slice(start, colon) + origin;
    shown += masked(withoutNamedSecrets(rest), isRandomInPath);
    at = colon + whole.length;
    colon = at - 1;
  }
  return shown + masked(cleared.slice(at), isRandom);
}

/** Keys with a vendor's well-known prefix, JSON Web Tokens, and private keys in PEM. */
const KNOWN_KEY =
  // Linear: a prefix starts a key, or is followed by less than 12 of its characters.
  /\b(?:AKIA|ASIA)[0-9A-Z]{16}\b|(?<![\w-])(?:gh[opsur]_|github_pat_|glpat-|xox[abeoprs]-|xapp-|sk-|[sr]k_(?:live|test)_|whsec_|SG\.|hv[sb]\.|npm_|pypi-|do[opr]_v1_|shp(?:at|ss|ca)_|AIza|dt0[a-z]\d\d\.|NRAK-|glsa_|glc_|eyJ)[\w.+/=-]{12,}|-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*/g;

/** `password=...`, `Bearer ...`; a value that begins like a pattern or a placeholder is not a secret. */
const ASSIGNED =
  // Linear: what follows a name is a value, or else one run of spaces or one word.
  /((?<![a-z])(?:pass(?:word|wd|phrase)?|pwd|secret|token|api[_-]?key|accountkey|sharedaccesskey)\s*=\s*(?![[*<({$%\\.^|)])|\b(?:bearer|basic)\s+(?=[\w.~+/=-]*[\d=]))[^\s"',;&)}\]]{4,}/gi;

/** `attributes["api_key"], "..."`, also in comparisons. */
const LITERAL = /(\["([^"]+)"\]\s*(?:,|==|!=)\s*)"(?:[^"\\]|\\.)+"/g;

const AFTER_SCHEME = /(:\/\/[^/?#\s"']*)([^\s"']*)/y;

/** Where the name of a scheme starts that ends at `end`; `end` if there is none. */
function schemeStart(text: string, from: number, end: number): number {
  let start = end;
  for (let i = end - 1; i >= from && /[a-z0-9+.-]/i.test(text[i]!); i--) if (/[a-z]/i.test(text[i]!)) start = i;
  return start;
}

function masked(text: string, isSecret: (word: string) => boolean): string {
  return text.replace(/(?<!0x)[A-Za-z0-9+_~-]{12,}={0,2}/g, (word) => (isSecret(word) ? REDACTED : word));
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const MIN_RANDOM_LENGTH = 16;

/** In a URL an id such as a UUID usually grants access, so it is masked there; elsewhere it is public and stays. */
function isRandomInPath(word: string): boolean {
  return UUID.test(word) || looksRandom(word, 0.22) || (word.match(LONG_RUN) ?? []).some(isMixed);
}

/** Ordinary names of this length have a separator between their words. */
const LONG_RUN = /[A-Za-z0-9]{20,}/g;

/** Contains letters and digits, and not only a year or version at the end. */
function isMixed(run: string): boolean {
  // Linear: a second digit ends the search.
  return /[A-Za-z]/.test(run) && /\d.*\d/.test(run) && !/^[A-Za-z]+\d{1,4}$/.test(run);
}

/** `/token/ab12cd`: masks a path segment with digits behind a segment named like a secret. */
function withoutNamedSecrets(path: string): string {
  return path.replace(NAMED_STEP, (step: string, name: string) =>
    isSecretKey(name) && /\d/.test(step) && !/^v\d+$/.test(step) ? REDACTED : step,
  );
}

const NAMED_STEP = /(?<=\/([\w-]+)\/)[^/?#&]+/g;

function isRandom(word: string): boolean {
  return word.length >= MIN_RANDOM_LENGTH && !UUID.test(word) && looksRandom(word, 0.3);
}

/**
 * Words, names and versions rarely switch between lower case, upper case and digits; random strings switch at almost
 * every character. Camel case switches often but has few digits, so a word without digits needs more switches.
 */
function looksRandom(word: string, minShare: number): boolean {
  const share = (word.match(KIND_CHANGE)?.length ?? 0) / word.length;
  const digits = word.match(/\d/g)?.length ?? 0;
  if (digits >= 2 && /[A-Za-z]/.test(word)) return share >= minShare;
  return share >= 0.55;
}

/** Switches between lower case, upper case and digits; separators do not count. */
const KIND_CHANGE = /(?<=[a-z])(?=[A-Z0-9])|(?<=[A-Z])(?=[a-z0-9])|(?<=[0-9])(?=[A-Za-z])/g;
