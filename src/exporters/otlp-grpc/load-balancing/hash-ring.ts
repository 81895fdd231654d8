/**
 * The size of the ring and the points of each endpoint are the Collector's, so both send a key to the same endpoint.
 */
const POSITIONS = 36_000;
const POINTS_PER_ENDPOINT = 100;

/**
 * Consistent hashing: a new endpoint takes keys from all others, a removed one leaves its keys to all others, and no
 * other key moves. Two rings of the same endpoints are equal, whatever the order of the endpoints.
 */
export class HashRing {
  /** Sorted, without duplicates. */
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

  /** Returns the index in `endpoints` of the endpoint for keys with this hash: the next one on the ring. */
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

/** CRC-32 as in zip. `hash` is the result of the previous call, or 0, so bytes may be passed in pieces. */
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
