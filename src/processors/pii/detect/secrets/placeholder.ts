import { latin1 } from "../text/characters.js";
import { matches } from "../text/matches.js";
import { TEXT_COST, work } from "../text/work.js";

/** Fixed replacements for treated values. No detector matches them, so a value is never treated twice. */
export const MASK = "****";
export const REDACTED = "[REDACTED]";

/** Words that stand in the place of a secret but are not secret. */
const WORDS = new RegExp(
  `^(?:${[
    "null|nil|none|new|old|value|true|false|undefined|required|missing|invalid|expired|empty|unset|changed|redacted|removed|filtered|hidden|string|yes|no|ok",
    "x{2,}|\\.{1,}|-{1,}|set|reset|updated|wrong|incorrect|mismatch|failed|failure|rejected|denied|accepted|enabled|disabled|unknown|unavailable",
    "optional|present|absent|provided|stored|encrypted|hashed|verified|default|weak|strong|rotated|revoked|masked|secret|password|passwort|kennwort",
    "valid|correct|successful|success|successfully|generated|created|deleted|sent|requested|forgotten|prompt|interactive|env|vault|file|n/a|na|tbd|todo",
    "not|must|should|cannot|can|too|the|a|an|is|was|are|has|for|of|in|on|at|to|from|with|and|or|if|when|does|do|did|will|may|by",
    "bcrypt|argon2(?:id)?|scrypt|pbkdf2|sha-?\\d+|md5|plain|text|hash|ldap|oauth2?|saml|sso|kerberos|basic|bearer|digest|certificate|publickey|keyboard-interactive",
    "ungültig|falsch|abgelaufen|vergessen|geändert|fehlt|ändern|expiré|invalide|incorrecte?|oublié|requis|inválida|incorrecta|caducada|olvidada|requerida|incorreta|expirada|obrigatória|errata|scaduta|verlopen|onjuist|nieprawidłowe|wygasło|yanlış|geçersiz",
    "obrigatórias?|obrigatórios?|verplicht|vereist|obligatoire|obligatori[oa]|requerid[oa]|richiest[oa]|erforderlich|benötigt|pflichtfeld|wymagane|wymagany|zorunlu|zorunludur|påkrævet|obligatorisk|vaaditaan|povinné|kötelező|обязателен|обязательно",
    "your[_-][\\w-]+|my[_-](?:password|secret|token|api[_-]?key)|insert[_-][\\w-]+|replace[_-][\\w-]+",
    "неверный|неверен|истёк|изменен|сброшен|错误|不正确|已过期|无效|不能为空|必填",
  ].join("|")})$`,
  "i",
);
/** Template variables, and masks that this processor has written. */
// At most 2,048 characters.
const TEMPLATE =
  /^(?:\*+|\u2022+|[a-z]+ \*{3,}|\$(?:\{.*|\(.*|env:.*|\d)|%(?:\(\w+\)s|\{.*)|@\w+$|:\w+$|\?|#\{.*|\{\{?[\w .$-]*\}?\}|\{\{.*|<[\w ./:-]*>|\[[\w .-]*\]|\(.{0,20}(?:hidden|masked|redacted|removed).*|\*{3,}.*|.{0,3}\*{4,}.*|[xX]{4,}.*|os\.(?:environ|getenv).*|process\.env.*|getenv.*|ENV\[.*|env\..*|secrets?\..*|var\..*|vault:.*|file:.*|ref\+.*|!vault.*|arn:aws:.*|_\w+\(.*|[a-z]+(?:_[a-z]+)+\(.*|[a-z_]+(?:\.[a-z_]+){2,})$/i;
const VARIABLE = /^(?:\$(?:[A-Z_][A-Z\d_]*|[a-z_]+)|%(?:[a-z]|[A-Z_]+%))$/;
/** Paths, which follow `pwd` and options that name files. */
const PATH =
  /^(?:~|\.{1,2})\/|^\/(?:home|var|srv|opt|etc|usr|tmp|run|app|apps|data|root|mnt|proc|dev|lib|bin|workspace|code|src|Users|builds?|secrets|www|kunde|[\w.-]{1,16}\/[\w.-]{1,24}\/)(?:\/|$)|^\/$|^[A-Za-z]:[\\/]/;
const MAX_LENGTH = 64;

/** Whether the value is a template variable, a word for a missing value, or a replacement that this processor wrote. */
export function isPlaceholder(b: Uint8Array, start: number, stop: number): boolean {
  work.spent += TEXT_COST;
  if (BRACKETS[b[start]!] === 1 && isBracketedText(b, start)) return true;
  const bytes = latin1(b, start, Math.min(stop, start + MAX_LENGTH));
  // biome-ignore lint/suspicious/noControlCharactersInRegex: only texts of other scripts need decoding.
  const text = /^[\x00-\x7f]*$/.test(bytes) ? bytes : Buffer.from(bytes, "latin1").toString();
  return isPlaceholderText(text);
}

/** Opening brackets, with 1 at their codes. */
const BRACKETS = new Uint8Array(256);
for (const c of "(<[{") BRACKETS[c.charCodeAt(0)] = 1;
const MAX_BRACKETED = 48;

/**
 * Whether words in brackets begin at `p`: `(sensitive value)`, `<not shown>`, `[secret removed by policy]`. The value
 * itself may end at the first space in them. Passwords have digits, signs or mixed capitals.
 */
function isBracketedText(b: Uint8Array, p: number): boolean {
  const text = latin1(b, p, Math.min(matches.end, p + MAX_BRACKETED));
  return /^(?:\([a-z][a-z _-]+\)|<[a-z][a-z _-]*>|\[[a-z][a-z _-]+\]|\{[a-z][a-z _-]+\})/i.test(text);
}

/** Whether the text is a template variable or a mask. */
export function isTemplate(text: string): boolean {
  return text.length <= MAX_LENGTH && (TEMPLATE.test(text) || VARIABLE.test(text) || PATH.test(text));
}

/** Whether the text stands in the place of a value. */
export function isPlaceholderText(text: string, isOwnPseudonym = matches.isOwnPseudonym): boolean {
  if (text.startsWith("hash(") && isOwnPseudonym(text)) return true;
  if (text.slice(0, 12).includes(MASK) || TEMPLATE.test(text) || VARIABLE.test(text)) return true;
  if (PATH.test(text) || WORDS.test(text)) return true;
  if (/^[a-z]+(?::[A-Za-z_-]+){2,}$/.test(text)) return true; // the key of a cache
  if (/^[A-Z]\w*:$/.test(text)) return true; // the next name of a struct, because the value is empty
  return /^\{\s?(?:["':]|\w+\s?[=:])/.test(text); // an object
}
