import { proposeSecret } from "../secrets/assigned-secret.js";
import { assigned } from "../secrets/assigned-value.js";
import { BACKSLASH, BLANK, DASH, QUOTE } from "../text/ascii.js";
import { CHARACTER_BITS, hasTextAt, LETTER, latin1, NAME } from "../text/characters.js";
import { ASSIGNED_SECRET } from "../text/detectors.js";
import { LABEL, PLACE, SIGN } from "../text/evidence.js";
import { matches, NOT_FOUND } from "../text/matches.js";
import { TEXT_COST, work } from "../text/work.js";
import { AUTHORIZATION_LABEL, BIRTH_LABEL, PASSWORD_LABEL, SECRET_LABEL } from "./label-words.js";
import { findLabelledValue } from "./labelled-value.js";
import { labelOfKey } from "./labels.js";

/** How a command takes a password: the option, and where in its value the password is. */
interface PasswordOption {
  readonly option: string;
  /** `attached` follows the option without a space; `pair` follows a user and this sign. */
  readonly form: "apart" | "attached" | "pair";
  readonly sign?: string;
}

const apart = (option: string): PasswordOption => ({ option, form: "apart" });
const attached = (option: string): PasswordOption => ({ option, form: "attached" });
const pair = (option: string, sign: string): PasswordOption => ({ option, form: "pair", sign });

/** Commands whose short options take passwords. */
const COMMANDS: Readonly<Record<string, readonly PasswordOption[]>> = {
  mysql: [attached("p")],
  mysqldump: [attached("p")],
  mysqladmin: [attached("p")],
  mysqlimport: [attached("p")],
  mariadb: [attached("p")],
  "mariadb-dump": [attached("p")],
  xtrabackup: [attached("p")],
  "7z": [attached("p")],
  sshpass: [apart("p"), attached("p")],
  security: [apart("p")],
  login: [apart("p")],
  twine: [apart("p")],
  mongo: [apart("p")],
  mongosh: [apart("p")],
  mongodump: [apart("p")],
  mongorestore: [apart("p")],
  az: [apart("p")],
  clickhouse: [apart("p")],
  ldapsearch: [apart("w")],
  ldapadd: [apart("w")],
  ldapmodify: [apart("w")],
  ldapdelete: [apart("w")],
  ldapwhoami: [apart("w")],
  ldappasswd: [apart("w"), apart("s"), apart("a")],
  "redis-cli": [apart("a")],
  ipmitool: [apart("P")],
  sqlcmd: [apart("P"), attached("P")],
  bcp: [apart("P"), attached("P")],
  p4: [apart("P")],
  zip: [apart("P")],
  unzip: [apart("P")],
  isql: [apart("P"), attached("P")],
  mosquitto_pub: [apart("P")],
  mosquitto_sub: [apart("P")],
  snmpwalk: [apart("A"), apart("X"), apart("c")],
  snmpget: [apart("A"), apart("X"), apart("c")],
  snmpset: [apart("A"), apart("X"), apart("c")],
  curl: [pair("u", ":"), pair("U", ":")],
  http: [pair("a", ":")],
  smbclient: [pair("U", "%")],
  rpcclient: [pair("U", "%")],
  winexe: [pair("U", "%")],
  wmiexec: [pair("U", "%")],
  psexec: [apart("p")],
  doveadm: [apart("p")],
  cassandra: [apart("p")],
  cqlsh: [apart("p")],
  influx: [apart("p"), apart("t")],
  kadmin: [apart("w")],
  useradd: [apart("p")],
  usermod: [apart("p")],
  wget: [],
};
/** Whether any of the commands is in a line. */
const COMMAND = new RegExp(`\\b(?:${Object.keys(COMMANDS).join("|")})[\\s"',]`);
const LETTERS = new Uint8Array(256);
for (const options of Object.values(COMMANDS)) for (const { option } of options) LETTERS[option.charCodeAt(0)] = 1;

const MAX_COMMAND = 160;
const MAX_FLAG = 48;

/** Finds the secret that the option at `p` takes: `--password tiger`, `mysql -ptiger`, `curl -u user:tiger`. */
export function findOption(b: Uint8Array, p: number): number {
  if (!matches.isEnabled(ASSIGNED_SECRET) || p < matches.lastEnd) return NOT_FOUND;
  return b[p + 1] === DASH || (CHARACTER_BITS[b[p + 2]!]! & LETTER) !== 0 ? longOption(b, p) : shortOption(b, p);
}

/** Whether an option of a command may begin with the dash at `p`. */
export function beginsOption(b: Uint8Array, p: number): boolean {
  if (p > matches.floor && MAY_PRECEDE_OPTION[b[p - 1]!] === 0) return false;
  return b[p + 1] === DASH ? (CHARACTER_BITS[b[p + 2]!]! & LETTER) !== 0 : (CHARACTER_BITS[b[p + 1]!]! & LETTER) !== 0;
}

const MAY_PRECEDE_OPTION = new Uint8Array(256).fill(1, 0, BLANK + 1);
for (const c of "\"'[") MAY_PRECEDE_OPTION[c.charCodeAt(0)] = 1;

function longOption(b: Uint8Array, p: number): number {
  const name = b[p + 1] === DASH ? p + 2 : p + 1;
  const limit = Math.min(matches.end, name + MAX_FLAG);
  let end = name;
  while (end < limit && (CHARACTER_BITS[b[end]!]! & NAME) !== 0) end++;
  work.spent += end - p;
  const valueAt = optionValue(b, end);
  if (end >= limit || valueAt < 0) return shortOption(b, p);
  const kind = labelOfKey(latin1(b, name, end));
  const start = secureStart(b, valueAt);
  if (kind === 0 && isUserOption(b, name, end)) return findPair(b, start, ":");
  if (b[start] === DASH || kind === 0) return shortOption(b, p);
  if (kind >= BIRTH_LABEL) return findLabelledValue(b, kind, start, LABEL | SIGN);
  if (kind !== PASSWORD_LABEL && kind !== SECRET_LABEL && kind !== AUTHORIZATION_LABEL) return NOT_FOUND;
  assigned.read(b, start);
  return proposeSecret(b, kind, LABEL | SIGN, b[end] !== COMMA);
}

const COMMA = 44;
const MAX_LISTED = 40;

/**
 * Returns the start of the value after the name of an option that ends before `p`, or -1: after a space, or as the next
 * text of a list in any quotes: `"--token", "x"`, `\"--token\",\"x\"`, `[--token, x]`.
 */
function optionValue(b: Uint8Array, p: number): number {
  let q = p;
  while (b[q] === BACKSLASH && q < p + MAX_BACKSLASHES) q++;
  const isQuoted = QUOTES[b[q]!] === 1;
  if (isQuoted) q++;
  if (b[q] !== COMMA) return b[p] === BLANK ? p + 1 : -1;
  const limit = ++q + MAX_LISTED;
  while (q < limit && b[q]! <= BLANK) q++;
  return isQuoted ? (QUOTES[b[q]!] === 1 || b[q] === BACKSLASH ? q : -1) : q === p + 2 ? q : -1;
}

const QUOTES = new Uint8Array(256);
for (const c of "\"'") QUOTES[c.charCodeAt(0)] = 1;
const MAX_BACKSLASHES = 8;

/** A password that a pipe gives to `sudo -S`. */
// At most 160 characters.
const PIPED = /(?:echo|printf|<<<) +(?:-n )?["']?([^"'|\n]{3,64}?)["']? *\| *sudo $/;

function findPiped(b: Uint8Array, p: number): number {
  work.spent += 2 * TEXT_COST;
  const piped = PIPED.exec(latin1(b, Math.max(matches.lastEnd, p - MAX_COMMAND), p));
  if (piped === null) return NOT_FOUND;
  assigned.start = p - piped[0].length + piped[0].indexOf(piped[1]!);
  assigned.stop = assigned.start + piped[1]!.length;
  return proposeSecret(b, PASSWORD_LABEL, LABEL | PLACE, true);
}

function shortOption(b: Uint8Array, p: number): number {
  const letter = b[p + 1]!;
  if (letter === 83 && hasTextAt(b, p - 5, p, "sudo ")) return findPiped(b, p);
  if (LETTERS[letter] === 0) return NOT_FOUND;
  work.spent += 6 * TEXT_COST;
  const line = latin1(b, Math.max(matches.floor, p - MAX_COMMAND), p);
  const isListed = b[p + 2] === QUOTE && b[p + 3] === 44; // ["curl", "-u", "anna:tiger"]
  const isApart = b[p + 2] === BLANK || isListed;
  const option = optionOf(line.slice(line.lastIndexOf("\n") + 1), String.fromCharCode(letter), isApart);
  if (option === undefined) return NOT_FOUND;
  const valueAt = isListed ? p + (b[p + 4] === BLANK ? 5 : 4) : isApart ? p + 3 : p + 2;
  if (option.form === "pair") return findPair(b, valueAt, option.sign!);
  assigned.read(b, valueAt);
  return proposeSecret(b, PASSWORD_LABEL, LABEL | PLACE, true);
}

/** Finds the password after a user and this sign. */
function findPair(b: Uint8Array, start: number, sign: string): number {
  assigned.read(b, start);
  const at = latin1(b, assigned.start, assigned.stop).indexOf(sign);
  work.spent += assigned.stop - assigned.start;
  if (at < 0) return NOT_FOUND;
  assigned.start += at + 1;
  return proposeSecret(b, PASSWORD_LABEL, LABEL | PLACE, true);
}

function isUserOption(b: Uint8Array, start: number, end: number): boolean {
  return /^(?:proxy-)?user$/.test(latin1(b, start, end));
}

/** Skips what PowerShell puts around a password. */
function secureStart(b: Uint8Array, p: number): number {
  if (b[p] !== 40) return p;
  work.spent += TEXT_COST;
  const call = /^\(ConvertTo-SecureString (?:-String )?/i.exec(latin1(b, p, Math.min(matches.end, p + 40)));
  return call === null ? p : p + call[0].length;
}

/** Returns the option of the last command before it that has one. */
function optionOf(line: string, letter: string, isApart: boolean): PasswordOption | undefined {
  if (!COMMAND.test(line)) return undefined;
  work.spent += 20 * TEXT_COST;
  const words = line.split(/[\s|;&"'()[\],]+/).reverse();
  for (const word of words) {
    const options = COMMANDS[word.slice(word.lastIndexOf("/") + 1)];
    if (options === undefined) continue;
    return options.find(
      ({ option, form }) => option === letter && (form === "pair" || (form === "attached") !== isApart),
    );
  }
  return undefined;
}
