import { proposeSecret } from "../secrets/assigned-secret.js";
import { assigned } from "../secrets/assigned-value.js";
import { CHARACTER_BITS, DIGIT, LETTER, latin1 } from "../text/characters.js";
import { ASSIGNED_SECRET } from "../text/detectors.js";
import { LABEL, PLACE, SIGN } from "../text/evidence.js";
import { matches, NOT_FOUND, RULED_OUT } from "../text/matches.js";
import { TEXT_COST, work } from "../text/work.js";
import { PASSWORD_LABEL } from "./label-words.js";
import { labelOfKey } from "./labels.js";

/** UTF-8 as it looks when it is read as Latin-1. */
const bytesOf = (text: string) => Buffer.from(text).toString("latin1");

/** Words for a password, in small letters. */
const WORDS = bytesOf(
  "password,passwort,passwd,passcode,passphrase,pw,kennwort,mot de passe,contraseña,clave,senha,palavra-passe,parola,hasło,wachtwoord," +
    "lösenord,adgangskode,passord,salasana,heslo,jelszó,lozinka,geslo,şifre,mật khẩu,kata sandi,парол,密码,密碼,パスワード,비밀번호,كلمة المرور,كلمة السر,पासवर्ड",
).split(",");
/** One of them in the same sentence, and what stands between it and the value. */
const PASSWORD_BEFORE = new RegExp(`(?:\\b(?:${WORDS.join("|").replace("pw", "pw\\b")}))([^\\n.;!?]{0,60})$`, "i");
/** A sign, a verb or a preposition right before the value. */
const LINK_BEFORE = new RegExp(
  bytesOf(
    "(?:^|[ :=])(?:is|was|value|to|as|with|using|ist|lautet|war|auf|mit|est|était|es|era|fue|con|a|è|é|para|por|jest|na|är|er|nu|til|till|on|je|" +
      "adalah|thành|olarak|now|на|это|은|는|は|是|为|入力|used|tried|typed|entered|gave) $|: $",
  ),
  "i",
);
/** Words about passwords after which something else is named. */
// At most 96 characters.
const ABOUT =
  /polic|rule|hash|algorithm|encod|encrypt|file|length|level|version|manager|module|plugin|field|column|least|minimum|min\b|must|should|expire|histor|user\s*$|user:|key\s*["']?$|retr|attempt|error|fail|code:|reason|id:|request|status|at:|by:|from:|since|date|time/i;
/** A verb after which the password that was tried is quoted. */
const TRIED =
  /[ (](?:tried|attempted|entered|supplied|provided|given|got|using|saisi|eingegeben|introducid[oa]|inserit[oa])[: ]{1,2}["']$/i;
/** The name of a constant as the first argument of a call: `define('DB_PASSWORD', `. */
const NAMED_ARGUMENT = /\(\s?["']([\w.-]{2,40})["'], ?["']$/;
/** Calls that take a password after a user. */
// At most 96 characters.
const LOGIN_CALL =
  /(?:sp_addlogin |\bPDO(?:->__construct)?\(|mysqli(?:_connect)?\(|mysqli->__construct\(|ldap_bind\([^"']{1,20}|auth=\(|BasicAuth\(|basic_auth\(?|signInWithEmailAndPassword\([^"']*)["'][^"'\n]{1,60}["'](?:, ?["'][^"'\n]{1,40}["'])?, ?["']$/i;
/** Calls that take a user in a variable, and then a password. */
const BIND_CALL = /(?:bind(?:_s)?|authenticate|login|sign_?in)\((?:[\w.$>-]{1,30}, ?){1,2}["']$/i;
/** How PowerShell makes a password of a text. */
const SECURE_STRING = /ConvertTo-SecureString (?:-String )?["']$/i;
/** The command of FTP and POP3 that gives a password. */
const PASS_COMMAND = /(?:^|["'>\]]|[CS]: ?|command:? ?|USER \S{1,40} ?[/;,|] ?)PASS $/;
/** A user and a slash before a password. */
const CREDENTIALS =
  /(?:credentials?|logins?|zugangsdaten|identifiants|credenciales)(?:\W| are | is | sind ){1,4}[\w.@-]{2,40} ?\/ $/i;
/** The command of Redis that gives a user a password. */
const SET_USER = /SETUSER \S{1,40}(?: [^\n]{1,40})? >$/;
const MAX_BEFORE = 96;

/**
 * Finds a password that a sentence names: `the new password for terminal 9 is yellow-crane-18`. The value at `start`
 * must look like a password, and a verb, a colon or quotes must stand right before it. Also finds the passwords of
 * commands and calls that name them in ways of their own.
 */
export function findInSentence(b: Uint8Array, start: number): number {
  const isQuoted = b[start - 1] === 34 || b[start - 1] === 39;
  if (start - matches.lastEnd < MIN_SENTENCE || !matches.isEnabled(ASSIGNED_SECRET)) return RULED_OUT;
  const from = Math.max(matches.lastEnd, start - MAX_BEFORE);
  if (!isMixed(b, start) || !mayNamePassword(b, from, start)) return RULED_OUT;
  assigned.read(b, isQuoted ? start - 1 : start);
  const isLong = isQuoted && assigned.stop - start > MAX_LENGTH; // as keys are, which an argument may name
  if (assigned.start !== start || (!isLong && isOther(b, start, assigned.stop))) return NOT_FOUND;
  work.spent += 6 * TEXT_COST;
  const before = latin1(b, from, start);
  const name = isQuoted ? NAMED_ARGUMENT.exec(before)?.[1] : undefined;
  if (name !== undefined) return labelOfKey(name) === PASSWORD_LABEL ? propose(b, LABEL | SIGN) : NOT_FOUND;
  if (isLong) return NOT_FOUND;
  if (isQuoted) {
    if (LOGIN_CALL.test(before) || BIND_CALL.test(before) || SECURE_STRING.test(before))
      return propose(b, LABEL | PLACE);
  }
  if (PASS_COMMAND.test(before) || CREDENTIALS.test(before) || SET_USER.test(before)) return propose(b, LABEL | SIGN);
  const between = PASSWORD_BEFORE.exec(before)?.[1];
  if (between === undefined) return NOT_FOUND;
  if (isQuoted && TRIED.test(between)) return propose(b, LABEL | PLACE);
  if (ABOUT.test(between)) return NOT_FOUND;
  if (!isQuoted && !LINK_BEFORE.test(between) && !isReplaced(b, between)) return NOT_FOUND;
  return propose(b, LABEL | PLACE);
}

/** Whether the value that was read last is replaced by another one: `password changed from tiger7 to lion8`. */
function isReplaced(b: Uint8Array, between: string): boolean {
  return (
    / (?:from|von|de|da) $/.test(between) &&
    /^ (?:to|auf|zu|a|à|para|in) \S/.test(latin1(b, assigned.stop, Math.min(matches.end, assigned.stop + 8)))
  );
}

/** Shorter texts before a value name nothing. */
const MIN_SENTENCE = 6;

function propose(b: Uint8Array, evidence: number): number {
  return proposeSecret(b, PASSWORD_LABEL, evidence, false);
}

/** All words that the patterns look for in small letters, by their first three bytes. */
const BEGINNINGS = wordsByBeginning([
  ...WORDS.filter((word) => word !== "pw"),
  ...[..." .:=\"')"].map((end) => `pw${end}`),
  "login",
  "zugangs",
  "credential",
  "credencial",
  "identifiants",
  "pdo(",
  "pdo->",
  "mysqli",
  "securestring",
  "ldap_bind",
  "simple_bind",
  "authenticate(",
  "auth=",
  "sp_addlogin",
  "basic_auth",
  "basicauth",
  "signin",
  "setuser ",
  "pass ",
]);
/** Whether any word begins like that. */
const BEGINS_WORD = new Uint8Array(1 << 16);
for (const beginning of BEGINNINGS.keys()) BEGINS_WORD[beginning] = 1;

function wordsByBeginning(words: readonly string[]): ReadonlyMap<number, readonly string[]> {
  const lists = new Map<number, string[]>();
  for (const word of words) {
    const beginning = beginningOf(word.charCodeAt(0), word.charCodeAt(1), word.charCodeAt(2));
    const list = lists.get(beginning);
    if (list === undefined) lists.set(beginning, [word]);
    else list.push(word);
  }
  return lists;
}

function beginningOf(a: number, b: number, c: number): number {
  return ((a << 10) ^ (b << 5) ^ c) & 0xffff;
}

/** Rules out most texts before a value without making a string. */
function mayNamePassword(b: Uint8Array, from: number, to: number): boolean {
  work.spent += (to - from) >> 2;
  for (let p = from; p < to - 2; p++) {
    const beginning = beginningOf(small(b[p]!), small(b[p + 1]!), small(b[p + 2]!));
    if (BEGINS_WORD[beginning] === 1 && BEGINNINGS.get(beginning)!.some((word) => isWordAt(b, p, to, word)))
      return true;
  }
  return false;
}

function isWordAt(b: Uint8Array, p: number, to: number, word: string): boolean {
  if (p + word.length > to) return false;
  for (let i = 0; i < word.length; i++) if (small(b[p + i]!) !== word.charCodeAt(i)) return false;
  return true;
}

function small(c: number): number {
  return c >= 65 && c <= 90 ? c | 32 : c;
}

const MIN_LENGTH = 5;
const MAX_LENGTH = 40;
/** Quantities, versions, paths, times, names of files, UUIDs and hashes, which have letters and digits too. */
const NO_PASSWORD =
  /^(?:v?\d[\d.,:/-]*[a-z]{0,7}|[\d-]+T[\d:.]+Z?|\/.*|\w+:\/\/.*|[\w.-]+\/[\w./-]*|\w+\.\w{1,5}|[\da-f]{8}-[\da-f]{4}-.*|[\da-f]{16,})$/i;

/** Whether the value at `start` has letters and digits, as passwords do. */
function isMixed(b: Uint8Array, start: number): boolean {
  const limit = Math.min(matches.end, start + MAX_LENGTH);
  let letters = 0;
  let digits = 0;
  let p = start;
  for (; p < limit && b[p]! > 32; p++) {
    const bits = CHARACTER_BITS[b[p]!]!;
    if ((bits & LETTER) !== 0 || b[p]! > 127) letters++;
    else if ((bits & DIGIT) !== 0) digits++;
  }
  work.spent += (p - start) >> 2;
  return p - start >= MIN_LENGTH && letters > 1 && digits > 0;
}

function isOther(b: Uint8Array, start: number, stop: number): boolean {
  work.spent += TEXT_COST;
  return stop - start < MIN_LENGTH || stop - start > MAX_LENGTH || NO_PASSWORD.test(latin1(b, start, stop));
}
