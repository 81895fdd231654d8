import { createHash } from "node:crypto";
import { WALLET_LABEL } from "../labels/label-words.js";
import { labelEndingAt } from "../labels/labels.js";
import { COLON } from "../text/ascii.js";
import { BASE64, HEX, hasTextAt, isBefore, isInWord, latin1, runEnd } from "../text/characters.js";
import { CRYPTO_ADDRESS } from "../text/detectors.js";
import { FORM, LABEL, SIGN, UNIQUE_FORM } from "../text/evidence.js";
import { matches, NOT_FOUND } from "../text/matches.js";
import { runs } from "../text/runs.js";
import { TEXT_COST, work } from "../text/work.js";

const BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
/** The same letters in the order of Ripple. */
const RIPPLE = "rpshnaf39wBUDNEGHJKLM4PQRST7VWXYZ2bcdeCg65jkm8oFqi1tuvAxyz";
/** Bitcoin, Litecoin, Dogecoin, Tron, Dash, Zcash, Tezos, and private keys of Bitcoin, by their first characters. */
const BASE58_ADDRESS = /^(?:[13LMDTXt5Kc]|tz[1-3]|KT1|edsk)[1-9A-HJ-NP-Za-km-z]{25,110}$/;
const RIPPLE_ADDRESS = /^[rs][1-9A-HJ-NP-Za-km-z]{24,34}$/;
const POLKADOT_ADDRESS = /^[1-9A-HJ-NP-Za-km-z]{46,48}$/;
const EXTENDED_KEY = /^[xyztuv](?:prv|pub)[1-9A-HJ-NP-Za-km-z]{100,112}$/;
const MONERO_ADDRESS = /^[48][0-9AB][1-9A-HJ-NP-Za-km-z]{93}(?:[1-9A-HJ-NP-Za-km-z]{11})?$/;
const ETHEREUM_ADDRESS = /^0x[\da-fA-F]{40}$/;
const STELLAR_ADDRESS = /^[GS][A-Z2-7]{55}$/;
const BECH32_ADDRESS = /^([a-z]{1,12}(?:_test)?)1([02-9ac-hj-np-z]{14,110})$/;
const SEGWIT_LETTERS = "qpzry9x8gf2tvdw0s3jn54khce6mua7l";
/** Solana: 32 bytes without a checksum, which hardly any other text of this length is. */
const SOLANA_ADDRESS = /^(?=.*\d)(?=.*[a-z])(?=.*[A-Z])[1-9A-HJ-NP-Za-km-z]{43,44}$/;
const ALGORAND_ADDRESS = /^[A-Z2-7]{58}$/;
const CASH_ADDRESS = /^[qp][02-9ac-hj-np-z]{41}$/;

const MIN_LENGTH = 26;
const MAX_LENGTH = 115;
/** Work units of a number with hundreds of bits, and of the hashes of it. */
const CHECKSUM_COST = 4000;

/**
 * Finds a wallet address that is exactly the word [start, stop). Ethereum addresses are recognised by their form, all
 * others by their checksum.
 */
export function findCryptoAddress(b: Uint8Array, start: number, stop: number): number {
  const length = stop - start;
  if (length < MIN_LENGTH || length > MAX_LENGTH || start < matches.lastEnd || isHex(b, start, stop)) return NOT_FOUND;
  work.spent += TEXT_COST;
  const word = latin1(b, start, stop);
  const isAddress =
    ETHEREUM_ADDRESS.test(word) ||
    EXTENDED_KEY.test(word) ||
    MONERO_ADDRESS.test(word) ||
    (BASE58_ADDRESS.test(word) && hasBase58Checksum(word, BASE58)) ||
    (RIPPLE_ADDRESS.test(word) && hasBase58Checksum(word, RIPPLE)) ||
    (STELLAR_ADDRESS.test(word) && hasCrc16(word)) ||
    (POLKADOT_ADDRESS.test(word) && hasBlakeChecksum(word)) ||
    (ALGORAND_ADDRESS.test(word) && hasAlgorandChecksum(word)) ||
    (SOLANA_ADDRESS.test(word) && b[start - 1] !== COLON && isSolanaAddress(word)) ||
    (CASH_ADDRESS.test(word) && isAfter(b, start, "bitcoincash:")) ||
    hasBech32Checksum(word.toLowerCase());
  if (!isAddress || isInWord(b, start, matches.floor)) return NOT_FOUND;
  const from = isAfter(b, start, "bitcoincash:") ? start - "bitcoincash:".length : start;
  return matches.propose(CRYPTO_ADDRESS, from, stop, UNIQUE_FORM);
}

/** A word of hex digits alone is a hash or an id. Most long words are, so they are ruled out before a text is made. */
function isHex(b: Uint8Array, start: number, stop: number): boolean {
  return b[start + 1] !== LOWER_X && runEnd(b, start, stop, HEX) === stop;
}

const LOWER_X = 120;

/** Whether this text stands before `p`. */
function isAfter(b: Uint8Array, p: number, text: string): boolean {
  return p - text.length >= matches.floor && hasTextAt(b, p - text.length, p, text);
}

function hasBase58Checksum(word: string, letters: string): boolean {
  work.spent += CHECKSUM_COST;
  const bytes = fromBase58(word, letters);
  if (bytes.length < 25 || bytes.length > 82) return false;
  const payload = bytes.subarray(0, -4);
  return sha256(sha256(payload)).subarray(0, 4).equals(bytes.subarray(-4));
}

/** Returns the number that the word stands for, with a byte of zero for each first letter that means zero. */
function fromBase58(word: string, letters: string): Buffer {
  let value = 0n;
  for (const c of word) value = value * 58n + BigInt(letters.indexOf(c));
  const hex = value.toString(16);
  let zeros = 0;
  while (word[zeros] === letters[0]) zeros++;
  return Buffer.from("00".repeat(zeros) + (hex.length % 2 === 0 ? hex : `0${hex}`), "hex");
}

/** Verifies an address of Polkadot and its relatives. */
function hasBlakeChecksum(word: string): boolean {
  work.spent += CHECKSUM_COST;
  const bytes = fromBase58(word, BASE58);
  if (bytes.length !== 35 && bytes.length !== 36) return false;
  const hash = createHash("blake2b512").update("SS58PRE").update(bytes.subarray(0, -2)).digest();
  return hash.subarray(0, 2).equals(bytes.subarray(-2));
}

/** Verifies an address or a seed of Stellar: base32 with CRC-16 at its end. */
function hasCrc16(word: string): boolean {
  work.spent += CHECKSUM_COST;
  let bits = 0n;
  for (const c of word) bits = bits * 32n + BigInt(BASE32.indexOf(c));
  const bytes = Buffer.from(bits.toString(16).padStart(70, "0"), "hex");
  return bytes.readUInt16LE(bytes.length - 2) === crc16(bytes.subarray(0, -2));
}

function crc16(bytes: Uint8Array): number {
  let crc = 0;
  for (const byte of bytes) {
    crc ^= byte << 8;
    for (let i = 0; i < 8; i++) crc = (crc & 0x8000) !== 0 ? ((crc << 1) ^ 0x1021) & 0xffff : (crc << 1) & 0xffff;
  }
  return crc;
}

/** Verifies an address of Algorand: base32 of a public key and the end of its hash. */
function hasAlgorandChecksum(word: string): boolean {
  work.spent += CHECKSUM_COST;
  let bits = 0n;
  for (const c of word) bits = bits * 32n + BigInt(BASE32.indexOf(c));
  const bytes = Buffer.from((bits >> 2n).toString(16).padStart(72, "0"), "hex");
  return createHash("sha512-256").update(bytes.subarray(0, 32)).digest().subarray(-4).equals(bytes.subarray(32));
}

function isSolanaAddress(word: string): boolean {
  work.spent += CHECKSUM_COST;
  return fromBase58(word, BASE58).length === 32;
}

/** Finds an address of TON in the run of base64url around [start, stop): a tag, a workchain, 32 bytes and CRC-16. */
export function findTonAddress(b: Uint8Array, start: number): number {
  const { floor, lastEnd } = matches;
  const least = Math.max(lastEnd, start - TON_LENGTH);
  let first = start;
  while (first > least && isBefore(b, first, least, BASE64)) first--;
  const stop = runs.end(b, first, BASE64);
  if (stop - first !== TON_LENGTH || isBefore(b, first, floor, BASE64)) return NOT_FOUND;
  work.spent += CHECKSUM_COST;
  const word = latin1(b, first, stop);
  if (!/^[EUk0][Qf]/.test(word)) return NOT_FOUND;
  const bytes = Buffer.from(word, "base64");
  return crc16(bytes.subarray(0, -2)) === bytes.readUInt16BE(bytes.length - 2)
    ? matches.propose(CRYPTO_ADDRESS, first, stop, UNIQUE_FORM)
    : NOT_FOUND;
}

const TON_LENGTH = 48;

const BASE32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

function sha256(data: Uint8Array): Buffer {
  return createHash("sha256").update(data).digest();
}

/** Verifies the checksums of BIP 173 and BIP 350, which Bitcoin, Cardano, Cosmos and others use. */
function hasBech32Checksum(word: string): boolean {
  const parts = BECH32_ADDRESS.exec(word);
  if (parts === null) return false;
  work.spent += word.length * 8;
  const [, prefix, data] = parts as unknown as [string, string, string];
  const values = [...prefix].map((c) => c.charCodeAt(0));
  const all = [
    ...values.map((c) => c >> 5),
    0,
    ...values.map((c) => c & 31),
    ...[...data].map((c) => SEGWIT_LETTERS.indexOf(c)),
  ];
  let check = 1;
  for (const value of all) {
    const top = check >>> 25;
    check = ((check & 0x1ffffff) << 5) ^ value;
    for (let i = 0; i < 5; i++) if ((top >> i) & 1) check ^= GENERATORS[i]!;
  }
  return check === 1 || check === 0x2bc830a3;
}

const GENERATORS = [0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3];

const PHRASE = "hrase";
const WORDS = "ords";
/** Twelve to twenty-four short words, after the word that names them. */
// At most 264 characters.
const SEED =
  /^(?:phrase|words)["')\]]*(?: (?:is|are|was|were|as|used))?[ :=]{1,3}["'[(]{0,2}((?:[a-z]{3,8}[ ,]{1,2}){11,23}[a-z]{3,8})(?![a-z])/i;
const WORDS_BEFORE =
  /(?:\b(?:12|15|18|21|24)|twelve|twenty.?four|seed|recovery|restore|backup|secret|wallet|mnemonic)[ -]$/i;
const MAX_PHRASE = 264;

/** Whether `phrase` or `words` begins at `p`. */
export function beginsPhrase(b: Uint8Array, p: number): boolean {
  return hasTextAt(b, p + 1, matches.end, (b[p]! | 32) === 112 ? PHRASE : WORDS);
}

/** Finds the words of a wallet behind `phrase` or `words` at `p`: `recovery phrase abstract bamboo ...`. */
export function findSeedPhrase(b: Uint8Array, p: number): number {
  if (!matches.isEnabled(CRYPTO_ADDRESS) || p < matches.lastEnd) return NOT_FOUND;
  work.spent += 3 * TEXT_COST;
  const isPhrase = (b[p]! | 32) === 112;
  const isNamed = isPhrase
    ? labelEndingAt(b, p + 1 + PHRASE.length, matches.lastEnd) === WALLET_LABEL
    : WORDS_BEFORE.test(latin1(b, Math.max(matches.lastEnd, p - 16), p));
  if (!isNamed) return NOT_FOUND;
  const seed = SEED.exec(latin1(b, p, Math.min(matches.end, p + MAX_PHRASE)));
  if (seed === null) return NOT_FOUND;
  const start = p + seed[0].length - seed[1]!.length;
  return matches.propose(CRYPTO_ADDRESS, start, p + seed[0].length, FORM | LABEL | SIGN);
}
