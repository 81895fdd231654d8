import { createHash } from "node:crypto";
import { isInWord, latin1 } from "../text/characters.js";
import { CRYPTO_ADDRESS } from "../text/detectors.js";
import { matches, NOT_FOUND } from "../text/matches.js";
import { TEXT_COST, work } from "../text/work.js";

const BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
/** Bitcoin, Litecoin, Dogecoin, Tron, Dash and Zcash, by the first character of their addresses. */
const BASE58_ADDRESS = /^[13LMDTXt][1-9A-HJ-NP-Za-km-z]{25,34}$/;
const ETHEREUM_ADDRESS = /^0x[\da-fA-F]{40}$/;
const SEGWIT_ADDRESS = /^(bc|tb|ltc)1([02-9ac-hj-np-z]{11,71})$/;
const SEGWIT_LETTERS = "qpzry9x8gf2tvdw0s3jn54khce6mua7l";

const MIN_LENGTH = 26;
const MAX_LENGTH = 90;
/** Work units that two hashes cost. */
const CHECKSUM_COST = 500;

/**
 * Finds a wallet address that is exactly the word [start, stop). Ethereum addresses are recognised by their form, all
 * others by their checksum.
 */
export function findCryptoAddress(b: Uint8Array, start: number, stop: number): number {
  const length = stop - start;
  if (length < MIN_LENGTH || length > MAX_LENGTH || start < matches.lastEnd || !canBegin(b, start)) return NOT_FOUND;
  work.spent += TEXT_COST;
  const word = latin1(b, start, stop);
  const isAddress =
    ETHEREUM_ADDRESS.test(word) ||
    (BASE58_ADDRESS.test(word) && hasBase58Checksum(word)) ||
    hasSegwitChecksum(word.toLowerCase());
  return isAddress && !isInWord(b, start, matches.floor) ? matches.add(CRYPTO_ADDRESS, start, stop) : NOT_FOUND;
}

const FIRST = new Uint8Array(256);
for (const c of "0123LMDTXtbBl") FIRST[c.charCodeAt(0)] = 1;

function canBegin(b: Uint8Array, start: number): boolean {
  if (FIRST[b[start]!] === 0) return false;
  return b[start] !== 48 || b[start + 1] === 120;
}

function hasBase58Checksum(word: string): boolean {
  work.spent += CHECKSUM_COST;
  let value = 0n;
  for (const c of word) value = value * 58n + BigInt(BASE58.indexOf(c));
  const bytes = Buffer.from(value.toString(16).padStart(50, "0"), "hex");
  if (bytes.length !== 25 && bytes.length !== 26) return false;
  const payload = bytes.subarray(0, -4);
  return sha256(sha256(payload)).subarray(0, 4).equals(bytes.subarray(-4));
}

function sha256(data: Uint8Array): Buffer {
  return createHash("sha256").update(data).digest();
}

/** Verifies the checksums of BIP 173 and BIP 350. */
function hasSegwitChecksum(word: string): boolean {
  const parts = SEGWIT_ADDRESS.exec(word);
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
