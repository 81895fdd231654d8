import { createHash } from "node:crypto";

/** @typedef {import("../random.js").Random} Random */

/** Wallet addresses with the checksums that their blockchains require. */
export const cryptoAddress = (/** @type {Random} */ r) =>
  r.pick([
    () => base58Check([0, ...bytes(r, 20)], BITCOIN),
    () => base58Check([5, ...bytes(r, 20)], BITCOIN),
    () => base58Check([48, ...bytes(r, 20)], BITCOIN), // Litecoin
    () => base58Check([30, ...bytes(r, 20)], BITCOIN), // Dogecoin
    () => base58Check([65, ...bytes(r, 20)], BITCOIN), // Tron
    () => segwit("bc", 0, bytes(r, r.pick([20, 32])), 1),
    () => segwit("bc", 1, bytes(r, 32), 0x2bc830a3),
    () => segwit("ltc", 0, bytes(r, 20), 1),
    () => `0x${r.hex(40)}`,
    () => `0x${r.hex(40)}`,
  ])();

const BITCOIN = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
const bytes = (/** @type {Random} */ r, /** @type {number} */ n) => Array.from({ length: n }, () => r.int(0, 255));
const sha256 = (/** @type {Uint8Array} */ data) => createHash("sha256").update(data).digest();

function base58Check(/** @type {number[]} */ payload, /** @type {string} */ alphabet) {
  const data = Buffer.from(payload);
  const all = Buffer.concat([data, sha256(sha256(data)).subarray(0, 4)]);
  let number = BigInt(`0x${all.toString("hex")}`);
  let text = "";
  for (; number > 0n; number /= 58n) text = alphabet[Number(number % 58n)] + text;
  for (const byte of all) {
    if (byte !== 0) break;
    text = alphabet[0] + text;
  }
  return text;
}

function segwit(
  /** @type {string} */ prefix,
  /** @type {number} */ version,
  /** @type {number[]} */ program,
  /** @type {number} */ constant,
) {
  const data = [version];
  let bits = 0;
  let value = 0;
  for (const byte of program) {
    value = (value << 8) | byte;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      data.push((value >> bits) & 31);
    }
    value &= (1 << bits) - 1;
  }
  if (bits > 0) data.push((value << (5 - bits)) & 31);
  const expanded = [
    ...[...prefix].map((c) => c.charCodeAt(0) >> 5),
    0,
    ...[...prefix].map((c) => c.charCodeAt(0) & 31),
  ];
  const check = polymod([...expanded, ...data, 0, 0, 0, 0, 0, 0]) ^ constant;
  const checksum = Array.from({ length: 6 }, (_, i) => (check >> (5 * (5 - i))) & 31);
  return `${prefix}1${[...data, ...checksum].map((n) => "qpzry9x8gf2tvdw0s3jn54khce6mua7l"[n]).join("")}`;
}

function polymod(/** @type {number[]} */ values) {
  let check = 1;
  for (const value of values) {
    const top = check >>> 25;
    check = ((check & 0x1ffffff) << 5) ^ value;
    [0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3].forEach((generator, i) => {
      if ((top >> i) & 1) check ^= generator;
    });
  }
  return check;
}
