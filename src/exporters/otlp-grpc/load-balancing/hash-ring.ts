/** The Collector's rings, so both programs send a key to the same endpoint: that of today, and that before 0.157. */
export const RING_LAYOUTS = ["current", "legacy"] as const;
export type RingLayout = (typeof RING_LAYOUTS)[number];

interface LayoutSettings {
  readonly positions: number;
  readonly pointsPerEndpoint: number;
  /** The bytes of a point's number, which are hashed after the endpoint. */
  readonly numberSize: 1 | 4;
  /** How far a point may move on from a position that is taken; if there is no free one, it is left out. */
  readonly maxMoves: number;
}

const LAYOUTS: Readonly<Record<RingLayout, LayoutSettings>> = {
  current: { positions: 131_071, pointsPerEndpoint: 200, numberSize: 4, maxMoves: 9 },
  legacy: { positions: 36_000, pointsPerEndpoint: 100, numberSize: 1, maxMoves: 0 },
};

/**
 * Consistent hashing: a new endpoint takes keys from all others, and a removed one leaves its keys to all others. Other
 * keys stay where they are, except for a few next to points that had to make room. Two rings of the same endpoints are
 * equal, whatever the order of the endpoints.
 */
export class HashRing {
  /** Sorted, without duplicates. */
  readonly endpoints: readonly string[];
  /** The number of the endpoint at each position. */
  private readonly owners: Uint16Array;

  constructor(endpoints: Iterable<string>, layout: RingLayout = "current") {
    this.endpoints = [...new Set(endpoints)].sort();
    const settings = LAYOUTS[layout];
    this.owners = new Uint16Array(settings.positions);
    this.fill(placePoints(this.endpoints, settings));
  }

  get isEmpty(): boolean {
    return this.endpoints.length === 0;
  }

  /** Returns the index in `endpoints` of the endpoint for keys with this hash: the next one on the ring. */
  ownerOf(hash: number): number {
    return this.owners[(hash >>> 0) % this.owners.length]!;
  }

  private fill(points: ReadonlyMap<number, number>): void {
    let next = points.get(Math.min(...points.keys())) ?? 0;
    for (let position = this.owners.length - 1; position >= 0; position--) {
      next = points.get(position) ?? next;
      this.owners[position] = next;
    }
  }
}

interface Point {
  readonly position: number;
  readonly hash: number;
  /** The number of its endpoint. */
  readonly owner: number;
}

/** The number of the endpoint at each position that is taken. */
function placePoints(endpoints: readonly string[], settings: LayoutSettings): Map<number, number> {
  const { positions, maxMoves } = settings;
  const points = endpoints.flatMap((endpoint, owner) => pointsOf(endpoint, owner, settings));
  const inOrder =
    maxMoves === 0 ? points : points.sort((a, b) => a.position - b.position || a.hash - b.hash || a.owner - b.owner);
  const placed = new Map<number, number>();
  for (const { position, owner } of inOrder) {
    let moves = 0;
    while (moves <= maxMoves && placed.has((position + moves) % positions)) moves += 1;
    if (moves <= maxMoves) placed.set((position + moves) % positions, owner);
  }
  return placed;
}

function pointsOf(endpoint: string, owner: number, settings: LayoutSettings): Point[] {
  const { positions, pointsPerEndpoint, numberSize } = settings;
  const name = Buffer.from(endpoint);
  const bytes = Buffer.concat([name, Buffer.alloc(numberSize)]);
  return Array.from({ length: pointsPerEndpoint }, (_, number) => {
    bytes.writeUIntLE(number, name.length, numberSize);
    const hash = crc32(0, bytes, 0, bytes.length);
    return { position: hash % positions, hash, owner };
  });
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
