/** The ring has so many positions, and each endpoint so many of them, as in the Collector: both send a key to the same endpoint. */
const POSITIONS = 36_000;
const POINTS_PER_ENDPOINT = 100;

/**
 * Consistent hashing: an endpoint that comes takes its keys from all others, one that goes leaves its own to all others, and
 * no other key moves. Two rings of the same endpoints are the same, whatever order they were named in.
 */
export class HashRing {
  /** Each once, in order. */
  readonly endpoints: readonly string[];
  /** The number of the endpoint at each position. */
  private readonly owners = new Uint16Array(POSITIONS);

  constructor(endpoints: Iterable<string>) {
    this.endpoints = [...new Set(endpoints)].sort();
    const points = new Map<number, number>();
    for (const [number, endpoint] of this.endpoints.entries()) {
      for (const position of pointsOf(endpoint)) if (!points.has(position)) points.set(position, number);
    }
    this.fill(points);
  }

  get isEmpty(): boolean {
    return this.endpoints.length === 0;
  }

  /** The number, in `endpoints`, of the one that has the keys with this hash: the next on the ring. */
  ownerOf(hash: number): number {
    return this.owners[(hash >>> 0) % POSITIONS]!;
  }

  private fill(points: ReadonlyMap<number, number>): void {
    let next = points.get(Math.min(...points.keys())) ?? 0;
    for (let position = POSITIONS - 1; position >= 0; position--) {
      next = points.get(position) ?? next;
      this.owners[position] = next;
    }
  }
}

function* pointsOf(endpoint: string): Generator<number> {
  const bytes = Buffer.concat([Buffer.from(endpoint), Buffer.alloc(1)]);
  for (let i = 0; i < POINTS_PER_ENDPOINT; i++) {
    bytes[bytes.length - 1] = i;
    yield crc32(0, bytes, 0, bytes.length) % POSITIONS;
  }
}

/** CRC-32 as zip has it. `hash` is what a former call gave, or 0: bytes may come in pieces. */
export function crc32(hash: number, b: Uint8Array, start: number, end: number): number {
  let crc = ~hash;
  for (let i = start; i < end; i++) crc = TABLE[(crc ^ b[i]!) & 0xff]! ^ (crc >>> 8);
  return ~crc >>> 0;
}

const TABLE = Int32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  return crc;
});
