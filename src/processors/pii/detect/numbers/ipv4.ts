import { BLANK, COLON, DASH, DOT, HASH, SLASH, ZERO } from "../text/ascii.js";
import { CHARACTER_BITS, DIGIT, isAt, isBefore, LETTER, latin1, SEPARATOR, UPPER, WORD } from "../text/characters.js";
import { HINT_HOST, HINT_VERSION, IPV4 } from "../text/detectors.js";
import { FORM, PLACE, VERSION } from "../text/evidence.js";
import { endsMask, matches, NOT_FOUND } from "../text/matches.js";
import { TEXT_COST, work } from "../text/work.js";
import { groups, groupValue } from "./digit-groups.js";
import { privateEvidence } from "./private-address.js";

/** Words that announce a version: what a version is called, and programs that are named with theirs. */
const VERSION_WORDS = (
  "version,ver,build,release,rev,firmware,driver,assembly,macos,os,ios,kernel,darwin,release notes,version number,build number,version is,firefox," +
  "chrome,chromium,edge,safari,opera,webkit,electron,jdk,jre,openssl,nginx,tomcat,mysql,postgres,postgresql,mariadb,oracle,windows,android,office"
).split(",");
/** These words may be the end of longer ones. */
const FREE_WORDS = /^(?:version|build|release|firmware|assembly|kernel|chrome)/;
const VERSION_WORD = new RegExp(
  `(?:${VERSION_WORDS.map((word) => (FREE_WORDS.test(word) ? word : `(?<![a-z])${word}`)).join("|")})['"]?[ =:]{0,3}['"]?v?$`,
  "i",
);

/** The last two letters of these words, and the characters allowed between a word and the number. */
const VERSION_ENDS = new Uint8Array(1 << 10);
for (const word of VERSION_WORDS)
  VERSION_ENDS[endOf(word.charCodeAt(word.length - 2), word.charCodeAt(word.length - 1))] = 1;
const VERSION_GAP = byteTable("'\" =:");

function endOf(a: number, b: number): number {
  return ((a & 31) << 5) | (b & 31);
}

/**
 * Finds an IPv4 address that begins with group `i`, and returns the group after it, or 0. Addresses that name no host
 * are ignored: loopback, the unspecified address, networks, and those that end in zeros as versions do.
 */
export function findIpv4(b: Uint8Array, i: number): number {
  if (i + 4 > groups.count || groups.separators[i] !== DOT || groups.separators[i + 1] !== DOT) return 0;
  if (groups.separators[i + 2] !== DOT || (matches.hints & HINT_VERSION) !== 0) return 0;
  for (let k = i; k < i + 4; k++) if (!isOctet(b, k)) return 0;
  if (!namesHost(b, i) || groups.separators[i + 3] === DOT || (i > 0 && groups.separators[i - 1] === DOT)) return 0;
  const start = groups.starts[i]!;
  const stop = groups.ends[i + 3]!;
  if (!isBounded(b, start, stop)) return 0;
  const largest = Math.max(groupValue(b, i), groupValue(b, i + 1), groupValue(b, i + 2), groupValue(b, i + 3));
  return propose(b, start, stop, groupValue(b, i), largest) < 0 ? 0 : i + 4;
}

/**
 * Finds an address at `p` that no other numbers follow, in a single read. It finds what `findIpv4` would find in the
 * four groups. A number must begin at `p`.
 */
export function findPlainIpv4(b: Uint8Array, p: number): number {
  const { end } = matches;
  const start = p;
  let sum = 0;
  let first = 0;
  let largest = 0;
  for (let octet = 0; octet < 4; octet++) {
    if (octet > 0 && (p >= end || b[p++] !== DOT)) return NOT_FOUND;
    const from = p;
    let value = 0;
    for (; p < end && p < from + 4; p++) {
      const digit = b[p]! - 48;
      if (digit < 0 || digit > 9) break;
      value = value * 10 + digit;
    }
    if (p === from || value > 255 || p - from > 3 || (b[from] === ZERO && p > from + 1)) return NOT_FOUND;
    if (octet === 0) first = value;
    if (value > largest) largest = value;
    sum += value;
  }
  work.spent += p - start;
  if (!isLastGroup(b, p, end) || first === 127 || first === 0 || sum === first || first >= MULTICAST) return NOT_FOUND;
  if ((matches.hints & HINT_VERSION) !== 0 || !isBounded(b, start, p)) return NOT_FOUND;
  return propose(b, start, p, first, largest);
}

/** Addresses from here on are multicast or reserved: 255.255.255.0 is a mask. */
const MULTICAST = 224;
/** Numbers as small as those of a version, object identifier or section. */
const MAX_SMALL = 63;
/** Few major versions are larger. */
const MAX_MAJOR = 31;

/** Addresses that many share: public resolvers, and the metadata of clouds. */
const SHARED = new Set(["8.8.8.8", "8.8.4.4", "1.1.1.1", "1.0.0.1", "9.9.9.9", "169.254.169.254"]);
const SHARED_FIRST = new Uint8Array(256);
for (const address of SHARED) SHARED_FIRST[Number.parseInt(address, 10)] = 1;

/** Whether the address is that of a network (`10.44.0.0/24`), or one that many share: it names no host. */
function isShared(b: Uint8Array, start: number, stop: number, first: number): boolean {
  const isPrefix = b[stop] === SLASH && isAt(b, stop + 1, matches.end, DIGIT);
  if (!isPrefix && SHARED_FIRST[first] === 0) return false;
  work.spent += TEXT_COST;
  const text = latin1(b, start, stop);
  if (SHARED.has(text)) return true;
  const length = /^\/(\d{1,2})(?![\d.])/.exec(latin1(b, stop, Math.min(matches.end, stop + 4)))?.[1];
  if (length === undefined || Number(length) > MAX_NETWORK) return false;
  const value = text.split(".").reduce((sum, octet) => sum * 256 + Number(octet), 0);
  return value % 2 ** (32 - Number(length)) === 0;
}

/** The longest prefix of a network; with a longer one, it is a host or a link between two. */
const MAX_NETWORK = 30;

function propose(b: Uint8Array, start: number, stop: number, first: number, largest: number): number {
  if (isShared(b, start, stop, first)) return NOT_FOUND;
  const isSmall = first !== 10 && (largest <= MAX_SMALL || (first <= MAX_MAJOR && followsWord(b, start)));
  const isVersion = isSmall ? !namesAddress(b, start, stop, first) : isStep(b, start, stop, first);
  const evidence = isPrivate(b, start, first) ? privateEvidence(b, start, stop) : 0;
  return matches.propose(IPV4, start, stop, FORM | PLACE | evidence | (isVersion ? VERSION : 0));
}

/** Whether the address belongs to a private network (10/8, 172.16/12, 192.168/16) or is valid on one link (169.254/16). */
function isPrivate(b: Uint8Array, start: number, first: number): boolean {
  if (first === 10) return true;
  if (first !== 172 && first !== 192 && first !== 169) return false;
  const second = secondOctet(b, start + 4);
  return first === 192 ? second === 168 : first === 169 ? second === 254 : second >= 16 && second <= 31;
}

/** Reads the number at `p`, up to a dot. */
function secondOctet(b: Uint8Array, p: number): number {
  let value = 0;
  for (; b[p] !== DOT && p < matches.end; p++) value = value * 10 + b[p]! - ZERO;
  return value;
}

/** Whether an arrow connects the number to a version that it follows: `5.9.1.65 -> 5.2.3.75`. */
function isStep(b: Uint8Array, start: number, stop: number, first: number): boolean {
  if (first > MAX_MAJOR || (b[start - 2] !== 62 && b[stop + 2] !== 62)) return false;
  work.spent += TEXT_COST;
  const before = latin1(b, Math.max(matches.floor, start - MAX_CONTEXT), start);
  return isRange(before, latin1(b, stop, Math.min(matches.end, stop + MAX_NEXT)), first);
}

/** Whether a word and a space stand before the number, as in `client 2.24.11.79`. */
function followsWord(b: Uint8Array, start: number): boolean {
  return b[start - 1] === BLANK && start - 2 >= matches.floor && isAt(b, start - 2, start, LETTER);
}

/** Words before an address, with what may stand between them. */
// At most 48 characters.
const ADDRESS_WORD =
  /(?:^|[^a-z])(?:ip(?:v4|_?addr(?:ess)?)?|addr(?:ess)?|host(?:name)?|peer|remote|src|dst|source|destination|dest|from|via|gateway|gw|dns|nameserver|resolver|ping|router|node|endpoint|forwarded|forwarded-for|x-real-ip|by|for|of|to|at|quelle|ziel|von|adresu|adresa?|adresy|adresse|direcci\xc3\xb3n|endere\xc3\xa7o|indirizzo|quell-ip|origen|desde|origine|depuis|origem|ip-?adresse?|(?:un|de)?ban(?:ned|ning)?|block(?:ed|ing)?|allow(?:ed)?|den(?:y|ied)|whitelist(?:ed)?|blacklist(?:ed)?|connected|connecting|attacker|scanner|visitor|user|login|resolved|resolves|lookup|traceroute|whois|nmap|ssh|telnet|curl|neighbor|bgp|route|lease|dhcp\w*|requester|caller|origin|sender|mx|mail|relay|proxy|upstream|backend|anfrage)["']{0,2}[ =:>([<@,]{1,4}["']{0,2}$/i;
/** Words that name both a program with a version and the address of a computer: a sign must follow them. */
const ROLE_WORD = /(?:^|[^a-z])(?:clients?|servers?|agent)["']{0,2}(?:[=:>([<@,] ?|: )["']{0,2}$/i;
/** Words that say that versions are what the text is about. */
const VERSION_CONTEXT =
  /(?:upgrad|downgrad|updat|bump|rollback|roll back|chart|running|version|release|migrat|patch|install|firmware|bios|driver|package|depend|compat|require|fixed in|since|oid|object|section|chapter|§|build)/i;
const MAX_CONTEXT = 48;

/** Whether a port, a prefix length or a word says that small numbers are an address. */
function namesAddress(b: Uint8Array, start: number, stop: number, first: number): boolean {
  if ((b[stop] === COLON || b[stop] === SLASH || b[stop] === HASH) && isAt(b, stop + 1, matches.end, DIGIT))
    return true;
  if (start === matches.floor && stop === matches.end) return (matches.hints & HINT_HOST) !== 0;
  work.spent += 2 * TEXT_COST;
  const before = latin1(b, Math.max(matches.floor, start - MAX_CONTEXT), start);
  if (VERSION_CONTEXT.test(before) || isRange(before, latin1(b, stop, Math.min(matches.end, stop + MAX_NEXT)), first))
    return false;
  return ADDRESS_WORD.test(before) || ROLE_WORD.test(before);
}

const MAX_NEXT = 24;
const NEXT_VERSION =
  /^["']? ?(?:to|->|=>|\xe2\x86\x92|bis|auf|na|a|vers|\.\.\.?|\xe2\x80\x93|-) ?["']?v?(\d{1,3})\.\d+\.\d+/;
// At most 48 characters.
const VERSION_BEFORE =
  /(?:^|[^\d.])v?(\d{1,3})\.\d+\.\d+(?:\.\d+)*["']? ?(?:to|->|=>|\xe2\x86\x92|bis|auf|na|a|vers|\.\.\.?|\xe2\x80\x93|-) ?["']?v?$/;

/** Whether the number is one end of a step such as `7.1.3.4 to 7.2.1.1`, whose major versions are close together. */
function isRange(before: string, after: string, first: number): boolean {
  const other = NEXT_VERSION.exec(after)?.[1] ?? VERSION_BEFORE.exec(before)?.[1];
  return other !== undefined && Math.abs(Number(other) - first) <= 1;
}

/** Whether neither a word nor more digits after `p` would be read as part of the number. */
function isLastGroup(b: Uint8Array, p: number, end: number): boolean {
  for (let q = p; q < end && q <= p + 3; q++) {
    const bits = CHARACTER_BITS[b[q]!]!;
    if ((bits & (q === p ? DIGIT | WORD : DIGIT)) !== 0) return false;
    if ((bits & SEPARATOR) === 0) return true;
  }
  return true;
}

function isOctet(b: Uint8Array, i: number): boolean {
  const size = groups.size(i);
  return size <= 3 && (size === 1 || b[groups.starts[i]!] !== ZERO) && groupValue(b, i) < 256;
}

function namesHost(b: Uint8Array, i: number): boolean {
  const first = groupValue(b, i);
  const rest = groupValue(b, i + 1) + groupValue(b, i + 2) + groupValue(b, i + 3);
  return first !== 127 && first !== 0 && rest !== 0 && first < MULTICAST;
}

/** Whether nothing before or after the address [start, stop) belongs to it. */
function isBounded(b: Uint8Array, start: number, stop: number): boolean {
  const { floor, end } = matches;
  if ((start > floor && b[start - 1] === DOT) || endsMask(b, start)) return false;
  if (start > floor && b[start - 1] === SLASH && isProduct(b, start - 1) && b[stop] !== COLON) return false;
  if (stop < end && b[stop] === DASH && isAt(b, stop + 1, end, LETTER)) return false; // 1.2.3.4-beta
  if (stop < end && b[stop] === DOT && isAt(b, stop + 1, end, LETTER) && isFileName(b, stop)) return false;
  return !isVersion(b, start);
}

/** Whether the name of a file ends after the numbers: lib-1.2.3.4.jar. */
function isFileName(b: Uint8Array, p: number): boolean {
  work.spent += TEXT_COST;
  return /^\.(?:jar|war|tar|t?gz|zip|rpm|deb|apk|exe|msi|dll|so|whl|nupkg|gem|bz2|xz|log|txt|json|xml)(?![a-z])/i.test(
    latin1(b, p, Math.min(matches.end, p + 8)),
  );
}

/** Whether the word before `p` is a product, as in Chrome/1.2.3.4. Host names are written in lower case. */
function isProduct(b: Uint8Array, p: number): boolean {
  const floor = Math.max(matches.floor, p - 32);
  let start = p;
  while (start > floor && isBefore(b, start, floor, LETTER)) start--;
  return start < p && isAt(b, start, p, UPPER) && b[start - 1] !== 95; // HIER_DIRECT/1.2.3.4
}

/** Whether a word before `p` says that a version follows. */
function isVersion(b: Uint8Array, p: number): boolean {
  const floor = Math.max(matches.floor, p - 17);
  let last = p - 1;
  while (last >= floor && VERSION_GAP[b[last]!] === 1) last--;
  return last >= floor && VERSION_ENDS[endOf(b[last - 1]!, b[last]!)] === 1 && isVersionWord(b, floor, p);
}

function isVersionWord(b: Uint8Array, floor: number, p: number): boolean {
  work.spent += TEXT_COST;
  return VERSION_WORD.test(latin1(b, floor, p));
}

function byteTable(characters: string): Uint8Array {
  const table = new Uint8Array(256);
  for (const c of characters) table[c.charCodeAt(0)] = 1;
  return table;
}
