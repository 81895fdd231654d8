import { REDACTED, withoutUrlSecrets } from "#contract/schema";
import { isSecretKey } from "./find-secrets.js";

/**
 * A text of the config that may be shown, but for what in it looks like a secret: in URLs user, password, query and parts of
 * the path; anywhere a key with a known beginning, something that is assigned to a word for secrets, a literal that
 * OTTL sets or compares an attribute of such a name with, and long words that look random.
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
  for (const { 0: whole, 1: origin, 2: rest, index } of cleared.matchAll(URL_TEXT)) {
    shown += masked(cleared.slice(at, index), isRandom) + origin + masked(withoutNamedSecrets(rest!), isRandomInPath);
    at = index + whole.length;
  }
  return shown + masked(cleared.slice(at), isRandom);
}

/** Keys that their makers gave a beginning to be known by, JSON Web Tokens, and private keys as PEM. */
const KNOWN_KEY =
  /\b(?:AKIA|ASIA)[0-9A-Z]{16}\b|(?<![\w-])(?:gh[opsur]_|github_pat_|glpat-|xox[abeoprs]-|xapp-|sk-|[sr]k_(?:live|test)_|whsec_|SG\.|hv[sb]\.|npm_|pypi-|do[opr]_v1_|shp(?:at|ss|ca)_|AIza|dt0[a-z]\d\d\.|NRAK-|glsa_|glc_|eyJ)[\w.+/=-]{12,}|-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*/g;

/** `password=...`, `Bearer ...`; what begins like a pattern or a placeholder is none. */
const ASSIGNED =
  /((?<![a-z])(?:pass(?:word|wd|phrase)?|pwd|secret|token|api[_-]?key|accountkey|sharedaccesskey)\s*=\s*(?![[*<({$%\\.^|)])|\b(?:bearer|basic)\s+(?=[\w.~+/=-]*[\d=]))[^\s"',;&)}\]]{4,}/gi;

/** `attributes["api_key"], "..."`, also compared. */
const LITERAL = /(\["([^"]+)"\]\s*(?:,|==|!=)\s*)"(?:[^"\\]|\\.)+"/g;

const URL_TEXT = /([a-z][a-z0-9+.-]*:\/\/[^/?#\s"']*)([^\s"']*)/gi;

function masked(text: string, isSecret: (word: string) => boolean): string {
  return text.replace(/(?<!0x)[A-Za-z0-9+_~-]{12,}={0,2}/g, (word) => (isSecret(word) ? REDACTED : word));
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const MIN_RANDOM_LENGTH = 16;

/** An id that is public elsewhere (a UUID, say) stays; as part of a URL it is mostly what gives access. */
function isRandomInPath(word: string): boolean {
  return UUID.test(word) || looksRandom(word, 0.22) || (word.match(LONG_RUN) ?? []).some(isMixed);
}

/** Names of this length have a `-` or the like between their words. */
const LONG_RUN = /[A-Za-z0-9]{20,}/g;

/** Letters and digits, and not only a year or a version at the end of a name. */
function isMixed(run: string): boolean {
  return /[A-Za-z]/.test(run) && /\d.*\d/.test(run) && !/^[A-Za-z]+\d{1,4}$/.test(run);
}

/** `/token/ab12cd`: the step behind one that is called like a secret, if there are digits in it. */
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
 * Words, names and versions stay in one kind of character for a while; random letters and digits change at every other one. A
 * word in camel case changes often, but has few digits, so without digits it takes more changes.
 */
function looksRandom(word: string, minShare: number): boolean {
  const share = (word.match(KIND_CHANGE)?.length ?? 0) / word.length;
  const digits = word.match(/\d/g)?.length ?? 0;
  if (digits >= 2 && /[A-Za-z]/.test(word)) return share >= minShare;
  return share >= 0.55;
}

/** Between lower case, upper case and digits; a separator begins anew. */
const KIND_CHANGE = /(?<=[a-z])(?=[A-Z0-9])|(?<=[A-Z])(?=[a-z0-9])|(?<=[0-9])(?=[A-Za-z])/g;
