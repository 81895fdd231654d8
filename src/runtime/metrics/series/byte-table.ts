import { viewOf } from "#otlp/bytes";

/**
 * A hash table whose keys are a number and a range of bytes, and whose values are slots: small integers that index the
 * caller's own arrays. All keys are in one buffer, so a million keys need no objects, and a lookup allocates nothing.
 *
 * Invariants: a slot is either free or has a key; `places` holds slot + 1, or 0 for a place never used, or REMOVED; at
 * most half of the places are not 0.
 */
export class ByteTable {
  private places = new Int32Array(64);
  private usedPlaces = 0;
  private hashes = new Int32Array(16);
  private owners = new Float64Array(16);
  private starts = new Uint32Array(16);
  private lengths = new Uint32Array(16);
  private readonly freeSlots: number[] = [];
  private slotEnd = 0;
  private keys = new Uint8Array(1024);
  private keysView = viewOf(this.keys);
  private keysEnd = 0;
  private removedKeyBytes = 0;
  private readonly seed: number;

  /** A seed that senders cannot know prevents them from choosing keys that all collide. */
  constructor(seed = (Math.random() * 0xffffffff) | 0) {
    this.seed = seed;
  }

  get size(): number {
    return this.slotEnd - this.freeSlots.length;
  }

  /** All slots are below this: the length that the caller's arrays need. */
  get slotLimit(): number {
    return this.slotEnd;
  }

  /** The memory of the table in bytes. */
  get byteLength(): number {
    return this.places.byteLength + this.hashes.length * 20 + this.keys.length;
  }

  has(slot: number): boolean {
    return slot < this.slotEnd && this.lengths[slot] !== FREE;
  }

  /** Returns the slot of a key, or -1. */
  find(owner: number, b: Uint8Array, start: number, end: number): number {
    const hash = hashBytes(this.seed ^ owner, b, start, end);
    const { places, hashes } = this;
    const mask = places.length - 1;
    for (let at = hash & mask; ; at = (at + 1) & mask) {
      const place = places[at]!;
      if (place === 0) return -1;
      if (place === REMOVED || hashes[place - 1] !== hash) continue;
      if (this.isAt(place - 1, owner, b, start, end)) return place - 1;
    }
  }

  /** Adds a key that is not in the table and returns its slot. */
  add(owner: number, b: Uint8Array, start: number, end: number): number {
    if (this.usedPlaces * 2 >= this.places.length) this.rehash();
    const slot = this.freeSlots.pop() ?? this.slotEnd++;
    if (slot >= this.hashes.length) this.growSlots();
    const hash = hashBytes(this.seed ^ owner, b, start, end);
    this.hashes[slot] = hash;
    this.owners[slot] = owner;
    this.starts[slot] = this.copyKey(b, start, end);
    this.lengths[slot] = end - start;
    this.place(slot, hash);
    return slot;
  }

  remove(slot: number): void {
    const { places } = this;
    const mask = places.length - 1;
    let at = this.hashes[slot]! & mask;
    while (places[at] !== slot + 1) at = (at + 1) & mask;
    places[at] = REMOVED;
    this.removedKeyBytes += this.lengths[slot]!;
    this.lengths[slot] = FREE;
    this.freeSlots.push(slot);
  }

  /** If the bytes at `start` are the slot's key under the same owner, returns where they end; otherwise -1. */
  matchAt(slot: number, owner: number, b: Uint8Array, start: number): number {
    const end = start + this.lengths[slot]!;
    return this.owners[slot] === owner && end <= b.length && this.isAt(slot, owner, b, start, end) ? end : -1;
  }

  ownerOf(slot: number): number {
    return this.owners[slot]!;
  }

  keyLength(slot: number): number {
    return this.lengths[slot]!;
  }

  /** The buffer of all keys, valid until the next key is added; a slot's key starts at `keyStart`. */
  get keyBytes(): DataView {
    return this.keysView;
  }

  keyStart(slot: number): number {
    return this.starts[slot]!;
  }

  /** Whether this is the slot's key; false if the slot has none. */
  isAt(slot: number, owner: number, b: Uint8Array, start: number, end: number): boolean {
    if (this.owners[slot] !== owner || this.lengths[slot] !== end - start) return false;
    return areSame(this.keysView, this.starts[slot]!, cachedView(b), start, end - start);
  }

  private place(slot: number, hash: number): void {
    const { places } = this;
    const mask = places.length - 1;
    let at = hash & mask;
    while (places[at]! > 0) at = (at + 1) & mask;
    if (places[at] === 0) this.usedPlaces++;
    places[at] = slot + 1;
  }

  private rehash(): void {
    let size = 64;
    while (size < this.size * 4) size *= 2;
    this.places = new Int32Array(size);
    this.usedPlaces = 0;
    for (let slot = 0; slot < this.slotEnd; slot++) {
      if (this.lengths[slot] !== FREE) this.place(slot, this.hashes[slot]!);
    }
  }

  private growSlots(): void {
    const length = this.hashes.length * 2;
    this.hashes = grown(this.hashes, new Int32Array(length));
    this.owners = grown(this.owners, new Float64Array(length));
    this.starts = grown(this.starts, new Uint32Array(length));
    this.lengths = grown(this.lengths, new Uint32Array(length));
  }

  private copyKey(b: Uint8Array, start: number, end: number): number {
    const size = end - start;
    if (this.keysEnd + size > this.keys.length) this.makeRoom(size);
    const at = this.keysEnd;
    for (let i = 0; i < size; i++) this.keys[at + i] = b[start + i]!;
    this.keysEnd = at + size;
    return at;
  }

  /** Removed keys leave gaps, which are closed when the buffer is full. */
  private makeRoom(size: number): void {
    const live = this.keysEnd - this.removedKeyBytes;
    const old = this.keys;
    this.keys = new Uint8Array(Math.max((live + size) * 2, 1024));
    this.keysView = viewOf(this.keys);
    if (this.removedKeyBytes === 0) return this.keys.set(old.subarray(0, live));
    this.keysEnd = 0;
    this.removedKeyBytes = 0;
    for (let slot = 0; slot < this.slotEnd; slot++) {
      const length = this.lengths[slot]!;
      const start = this.starts[slot]!;
      if (length === FREE || start + length > old.length) continue;
      this.keys.set(old.subarray(start, start + length), this.keysEnd);
      this.starts[slot] = this.keysEnd;
      this.keysEnd += length;
    }
  }
}

const REMOVED = -1;
/** The key length that marks a free slot. */
const FREE = 0xffffffff;

function grown<T extends { set(from: T): void }>(from: T, to: T): T {
  to.set(from);
  return to;
}

let lastBytes: Uint8Array | undefined;
let lastView: DataView;

/**
 * A cached view: the keys of one batch are looked up one after the other, so its view is created once. The last view
 * stays in memory.
 */
function cachedView(b: Uint8Array): DataView {
  if (b !== lastBytes) {
    lastView = viewOf(b);
    lastBytes = b;
  }
  return lastView;
}

const STEP = 16;

/** Compares backwards, because keys differ at their ends. The last step overlaps the previous one. */
function areSame(a: DataView, i: number, b: DataView, j: number, size: number): boolean {
  if (size < STEP) {
    for (let at = size - 1; at >= 0; at--) if (a.getUint8(i + at) !== b.getUint8(j + at)) return false;
    return true;
  }
  for (let at = size - STEP; ; at = at < STEP ? 0 : at - STEP) {
    const p = i + at;
    const q = j + at;
    const first = (a.getInt32(p, true) ^ b.getInt32(q, true)) | (a.getInt32(p + 4, true) ^ b.getInt32(q + 4, true));
    const second =
      (a.getInt32(p + 8, true) ^ b.getInt32(q + 8, true)) | (a.getInt32(p + 12, true) ^ b.getInt32(q + 12, true));
    if ((first | second) !== 0) return false;
    if (at === 0) return true;
  }
}

/** MurmurHash3's mixing, four bytes at a time. */
function hashBytes(seed: number, bytes: Uint8Array, start: number, end: number): number {
  const b = cachedView(bytes);
  let hash = seed | 0;
  let i = start;
  for (; i + 4 <= end; i += 4) hash = mix(hash, b.getInt32(i, true));
  let rest = end - start;
  for (; i < end; i++) rest = (rest << 8) | b.getUint8(i);
  hash = mix(hash, rest);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}

function mix(hash: number, word: number): number {
  const k = Math.imul(word, 0xcc9e2d51);
  const h = hash ^ Math.imul((k << 15) | (k >>> 17), 0x1b873593);
  return (Math.imul((h << 13) | (h >>> 19), 5) + 0xe6546b64) | 0;
}
