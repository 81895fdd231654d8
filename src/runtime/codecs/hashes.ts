/** Hashes that node:crypto lacks: MurmurHash3 and XXH3, as published by their authors. Seeds are 0. */

const MASK = 0xffff_ffff_ffff_ffffn;
const mask = (n: bigint) => n & MASK;
const rotl64 = (n: bigint, bits: bigint) => mask((n << bits) | (n >> (64n - bits)));
const rotl32 = (n: number, bits: number) => (n << bits) | (n >>> (32 - bits));

/** The 32-bit hash. */
export function murmur3(bytes: Buffer): number {
  let hash = 0;
  const whole = bytes.length & ~3;
  const scramble = (block: number) => Math.imul(rotl32(Math.imul(block, 0xcc9e2d51), 15), 0x1b873593);
  for (let i = 0; i < whole; i += 4) {
    hash = rotl32(hash ^ scramble(bytes.readUInt32LE(i)), 13);
    hash = (Math.imul(hash, 5) + 0xe6546b64) | 0;
  }
  let tail = 0;
  for (let i = bytes.length - 1; i >= whole; i--) tail = (tail << 8) | bytes[i]!;
  if (whole < bytes.length) hash ^= scramble(tail);
  hash ^= bytes.length;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

const C1 = 0x87c37b91114253d5n;
const C2 = 0x4cf5ad432745937fn;

/** The 128-bit hash in its form for 64-bit machines, as two halves. */
export function murmur3x128(bytes: Buffer): [low: bigint, high: bigint] {
  let h1 = 0n;
  let h2 = 0n;
  const scramble1 = (k: bigint) => mask(rotl64(mask(k * C1), 31n) * C2);
  const scramble2 = (k: bigint) => mask(rotl64(mask(k * C2), 33n) * C1);
  const whole = bytes.length & ~15;
  for (let i = 0; i < whole; i += 16) {
    h1 = mask(rotl64(h1 ^ scramble1(bytes.readBigUInt64LE(i)), 27n) + h2);
    h1 = mask(h1 * 5n + 0x52dce729n);
    h2 = mask(rotl64(h2 ^ scramble2(bytes.readBigUInt64LE(i + 8)), 31n) + h1);
    h2 = mask(h2 * 5n + 0x38495ab5n);
  }
  const tail = Buffer.alloc(16);
  bytes.copy(tail, 0, whole);
  h2 ^= scramble2(tail.readBigUInt64LE(8));
  h1 ^= scramble1(tail.readBigUInt64LE(0));
  h1 ^= BigInt(bytes.length);
  h2 ^= BigInt(bytes.length);
  h1 = mask(h1 + h2);
  h2 = mask(h2 + h1);
  h1 = mix64(h1);
  h2 = mix64(h2);
  h1 = mask(h1 + h2);
  return [h1, mask(h2 + h1)];
}

function mix64(value: bigint): bigint {
  let k = value;
  k = mask((k ^ (k >> 33n)) * 0xff51afd7ed558ccdn);
  k = mask((k ^ (k >> 33n)) * 0xc4ceb9fe1a85ec53n);
  return k ^ (k >> 33n);
}

/** The 192 bytes of XXH3's default secret. */
const SECRET = Buffer.from(
  "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671fcb79e64eccc0e578825ad07dccff7221b8084674f743248ee03590e6813a264c3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364eac5ac8334d3ebc3c581a0fffa1363eb170ddd51b7f0da49d316552629d4689e2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e",
  "hex",
);
const secret64 = (at: number) => SECRET.readBigUInt64LE(at);
const secret32 = (at: number) => BigInt(SECRET.readUInt32LE(at));

const P32_1 = 0x9e3779b1n;
const P32_2 = 0x85ebca77n;
const P32_3 = 0xc2b2ae3dn;
const P64_1 = 0x9e3779b185ebca87n;
const P64_2 = 0xc2b2ae3d27d4eb4fn;
const P64_3 = 0x165667b19e3779f9n;
const P64_4 = 0x85ebca77c2b2ae63n;
const P64_5 = 0x27d4eb2f165667c5n;
const PMX1 = 0x165667919e3779f9n;
const PMX2 = 0x9fb21c651e98df25n;

const avalanche = (value: bigint): bigint => {
  const h = mask((value ^ (value >> 37n)) * PMX1);
  return h ^ (h >> 32n);
};

const avalancheXxh64 = (value: bigint): bigint => {
  let h = mask((value ^ (value >> 33n)) * P64_2);
  h = mask((h ^ (h >> 29n)) * P64_3);
  return h ^ (h >> 32n);
};

/** The 128-bit product with its halves folded into one. */
const foldedProduct = (a: bigint, b: bigint): bigint => {
  const product = a * b;
  return mask(product) ^ (product >> 64n);
};

const swap32 = (n: bigint): bigint => {
  const x = Number(n);
  return BigInt((((x & 0xff) << 24) | ((x & 0xff00) << 8) | ((x >>> 8) & 0xff00) | (x >>> 24)) >>> 0);
};

const swap64 = (n: bigint): bigint => (swap32(n & 0xffffffffn) << 32n) | swap32(n >> 32n);

const mix16 = (bytes: Buffer, at: number, secretAt: number): bigint =>
  foldedProduct(bytes.readBigUInt64LE(at) ^ secret64(secretAt), bytes.readBigUInt64LE(at + 8) ^ secret64(secretAt + 8));

/** The 64-bit hash. */
export function xxh3(bytes: Buffer): bigint {
  const { length } = bytes;
  const size = BigInt(length);
  if (length === 0) return avalancheXxh64(secret64(56) ^ secret64(64));
  if (length <= 3) return avalancheXxh64(shortKey(bytes) ^ (secret32(0) ^ secret32(4)));
  if (length <= 8) {
    const input = BigInt(bytes.readUInt32LE(length - 4)) | (BigInt(bytes.readUInt32LE(0)) << 32n);
    let h = input ^ (secret64(8) ^ secret64(16));
    h = mask((h ^ rotl64(h, 49n) ^ rotl64(h, 24n)) * PMX2);
    h = mask((h ^ mask((h >> 35n) + size)) * PMX2);
    return h ^ (h >> 28n);
  }
  if (length <= 16) {
    const low = bytes.readBigUInt64LE(0) ^ (secret64(24) ^ secret64(32));
    const high = bytes.readBigUInt64LE(length - 8) ^ (secret64(40) ^ secret64(48));
    return avalanche(mask(size + swap64(low) + high + foldedProduct(low, high)));
  }
  if (length <= 128) return avalanche(sumOfPairs64(bytes, size));
  if (length <= 240) return middle64(bytes, size);
  const lanes = accumulate(bytes);
  return mergeLanes(lanes, 11, mask(size * P64_1));
}

/** The 128-bit hash as two halves. */
export function xxh128(bytes: Buffer): [low: bigint, high: bigint] {
  const { length } = bytes;
  const size = BigInt(length);
  if (length === 0) return [avalancheXxh64(secret64(64) ^ secret64(72)), avalancheXxh64(secret64(80) ^ secret64(88))];
  if (length <= 3) {
    const key = shortKey(bytes);
    const low32 = swap32(key);
    const high = ((low32 << 13n) | (low32 >> 19n)) & 0xffffffffn;
    return [avalancheXxh64(key ^ (secret32(0) ^ secret32(4))), avalancheXxh64(high ^ (secret32(8) ^ secret32(12)))];
  }
  if (length <= 8) return short128(bytes, size);
  if (length <= 16) return medium128(bytes, size);
  if (length <= 240) return length <= 128 ? sumOfPairs128(bytes, size) : middle128(bytes, size);
  const lanes = accumulate(bytes);
  return [
    mergeLanes(lanes, 11, mask(size * P64_1)),
    mergeLanes(lanes, SECRET.length - 64 - 11, mask(~mask(size * P64_2))),
  ];
}

/** One to three bytes and the length as a number. */
function shortKey(bytes: Buffer): bigint {
  const { length } = bytes;
  const [first, middle, last] = [bytes[0]!, bytes[length >> 1]!, bytes[length - 1]!];
  return BigInt(((first << 16) | (middle << 24) | last | (length << 8)) >>> 0);
}

function sumOfPairs64(bytes: Buffer, size: bigint): bigint {
  const { length } = bytes;
  let sum = mask(size * P64_1);
  for (let i = (length - 1) >> 5; i >= 0; i--) {
    sum = mask(sum + mix16(bytes, 16 * i, 32 * i));
    sum = mask(sum + mix16(bytes, length - 16 * (i + 1), 32 * i + 16));
  }
  return sum;
}

function middle64(bytes: Buffer, size: bigint): bigint {
  const { length } = bytes;
  let sum = mask(size * P64_1);
  for (let i = 0; i < 8; i++) sum = mask(sum + mix16(bytes, 16 * i, 16 * i));
  sum = avalanche(sum);
  for (let i = 8; i < length >> 4; i++) sum = mask(sum + mix16(bytes, 16 * i, 16 * (i - 8) + 3));
  return avalanche(mask(sum + mix16(bytes, length - 16, 136 - 17)));
}

function short128(bytes: Buffer, size: bigint): [low: bigint, high: bigint] {
  const input = BigInt(bytes.readUInt32LE(0)) | (BigInt(bytes.readUInt32LE(bytes.length - 4)) << 32n);
  const product = (input ^ (secret64(16) ^ secret64(24))) * mask(P64_1 + (size << 2n));
  let low = mask(product);
  const high = mask((product >> 64n) + (low << 1n));
  low ^= high >> 3n;
  low = mask((low ^ (low >> 35n)) * PMX2);
  return [low ^ (low >> 28n), avalanche(high)];
}

function medium128(bytes: Buffer, size: bigint): [low: bigint, high: bigint] {
  const inputLow = bytes.readBigUInt64LE(0);
  let inputHigh = bytes.readBigUInt64LE(bytes.length - 8);
  const product = (inputLow ^ inputHigh ^ (secret64(32) ^ secret64(40))) * P64_1;
  let low = mask(mask(product) + ((size - 1n) << 54n));
  inputHigh ^= secret64(48) ^ secret64(56);
  let high = mask((product >> 64n) + inputHigh + (inputHigh & 0xffffffffn) * (P32_2 - 1n));
  low ^= swap64(high);
  const second = low * P64_2;
  low = mask(second);
  high = mask((second >> 64n) + high * P64_2);
  return [avalanche(low), avalanche(high)];
}

class Pair128 {
  low: bigint;
  high = 0n;

  constructor(low: bigint) {
    this.low = low;
  }

  mix(bytes: Buffer, first: number, second: number, secretAt: number): void {
    this.low = mask(this.low + mix16(bytes, first, secretAt));
    this.low ^= mask(bytes.readBigUInt64LE(second) + bytes.readBigUInt64LE(second + 8));
    this.high = mask(this.high + mix16(bytes, second, secretAt + 16));
    this.high ^= mask(bytes.readBigUInt64LE(first) + bytes.readBigUInt64LE(first + 8));
  }

  finish(size: bigint): [low: bigint, high: bigint] {
    const high = mask(this.low * P64_1 + this.high * P64_4 + size * P64_2);
    return [avalanche(mask(this.low + this.high)), mask(-avalanche(high))];
  }
}

function sumOfPairs128(bytes: Buffer, size: bigint): [low: bigint, high: bigint] {
  const pair = new Pair128(mask(size * P64_1));
  for (let i = (bytes.length - 1) >> 5; i >= 0; i--) pair.mix(bytes, 16 * i, bytes.length - 16 * (i + 1), 32 * i);
  return pair.finish(size);
}

function middle128(bytes: Buffer, size: bigint): [low: bigint, high: bigint] {
  const pair = new Pair128(mask(size * P64_1));
  for (let i = 0; i < 4; i++) pair.mix(bytes, 32 * i, 32 * i + 16, 32 * i);
  pair.low = avalanche(pair.low);
  pair.high = avalanche(pair.high);
  for (let i = 4; i < bytes.length >> 5; i++) pair.mix(bytes, 32 * i, 32 * i + 16, 3 + 32 * (i - 4));
  pair.mix(bytes, bytes.length - 16, bytes.length - 32, 136 - 17 - 16);
  return pair.finish(size);
}

const STRIPE = 64;
const STRIPES_PER_BLOCK = (SECRET.length - STRIPE) / 8;

/** Inputs longer than 240 bytes go through eight lanes, a stripe of 64 bytes at a time. */
function accumulate(bytes: Buffer): bigint[] {
  const lanes = [P32_3, P64_1, P64_2, P64_3, P64_4, P32_2, P64_5, P32_1];
  const stripes = Math.floor((bytes.length - 1) / STRIPE);
  for (let i = 0; i < stripes; i++) {
    const inBlock = i % STRIPES_PER_BLOCK;
    addStripe(lanes, bytes, i * STRIPE, inBlock * 8);
    if (inBlock === STRIPES_PER_BLOCK - 1) scrambleLanes(lanes);
  }
  addStripe(lanes, bytes, bytes.length - STRIPE, SECRET.length - STRIPE - 7);
  return lanes;
}

function addStripe(lanes: bigint[], bytes: Buffer, at: number, secretAt: number): void {
  for (let i = 0; i < 8; i++) {
    const data = bytes.readBigUInt64LE(at + 8 * i);
    const key = data ^ secret64(secretAt + 8 * i);
    lanes[i ^ 1] = mask(lanes[i ^ 1]! + data);
    lanes[i] = mask(lanes[i]! + (key & 0xffffffffn) * (key >> 32n));
  }
}

function scrambleLanes(lanes: bigint[]): void {
  for (let i = 0; i < 8; i++) {
    const lane = lanes[i]!;
    lanes[i] = mask((lane ^ (lane >> 47n) ^ secret64(SECRET.length - STRIPE + 8 * i)) * P32_1);
  }
}

function mergeLanes(lanes: readonly bigint[], secretAt: number, start: bigint): bigint {
  let result = start;
  for (let i = 0; i < 4; i++)
    result = mask(
      result +
        foldedProduct(lanes[2 * i]! ^ secret64(secretAt + 16 * i), lanes[2 * i + 1]! ^ secret64(secretAt + 16 * i + 8)),
    );
  return avalanche(result);
}

/**
 * FNV-1a, the hash of the Collector's samplers. `state` is the result of an earlier call, so bytes may come in pieces.
 */

export const FNV32_START = 0x811c9dc5;

export function fnv32(state: number, b: Uint8Array, start: number, end: number): number {
  let hash = state;
  for (let i = start; i < end; i++) hash = Math.imul(hash ^ b[i]!, 0x01000193);
  return hash >>> 0;
}

/** The initial state for `fnv64`. */
export const FNV64_START = 0xcbf29ce484222325n;

/** FNV-1a with 64 bits, continuing from a state. It computes in halves, because a bigint is made for every result. */
export function fnv64(state: bigint, b: Uint8Array): bigint {
  let high = Number(state >> 32n);
  let low = Number(state & 0xffffffffn);
  for (let i = 0; i < b.length; i++) {
    low = (low ^ b[i]!) >>> 0;
    const product = low * 0x1b3; // the prime is 2^40 + 0x1b3
    high = (Math.imul(high, 0x1b3) + (low << 8) + Math.floor(product / 2 ** 32)) >>> 0;
    low = product >>> 0;
  }
  return (BigInt(high) << 32n) | BigInt(low);
}
