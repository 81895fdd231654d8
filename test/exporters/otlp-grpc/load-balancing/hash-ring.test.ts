import { crc32 as zlibCrc32 } from "node:zlib";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  crc32,
  HashRing,
  RING_LAYOUTS,
  type RingLayout,
} from "../../../../src/exporters/otlp-grpc/load-balancing/hash-ring.js";
import { runs } from "../../../support/runs.js";

const POSITIONS = { current: 131_071, legacy: 36_000 };
const owners = (ring: HashRing, layout: RingLayout) =>
  Array.from({ length: POSITIONS[layout] }, (_, position) => ring.endpoints[ring.ownerOf(position)]!);

const endpoint = fc
  .tuple(fc.integer({ min: 0, max: 255 }), fc.integer({ min: 0, max: 255 }))
  .map(([a, b]) => `10.0.${a}.${b}:4317`);
const endpoints = fc.uniqueArray(endpoint, { minLength: 1, maxLength: 12 });

describe.each(RING_LAYOUTS)("the ring %s", (layout) => {
  it("moves keys to a new endpoint and from a removed one, and next to no others", () => {
    fc.assert(
      fc.property(endpoints, endpoint, (before, added) => {
        fc.pre(!before.includes(added));
        const [small, large] = [
          owners(new HashRing(before, layout), layout),
          owners(new HashRing([...before, added], layout), layout),
        ];
        const others = large.filter((owner, i) => owner !== added && owner !== small[i]).length;
        // A point that makes room moves by a few positions, and one in some hundred has to.
        return others <= (layout === "legacy" ? 0 : POSITIONS[layout] / 1000);
      }),
      runs(30),
    );
  });

  it("gives every endpoint a share, none more than three times the even one", () => {
    fc.assert(
      fc.property(endpoints, (list) => {
        const counts = new Map<string, number>();
        for (const owner of owners(new HashRing(list, layout), layout)) counts.set(owner, (counts.get(owner) ?? 0) + 1);
        const shares = list.map((each) => (counts.get(each) ?? 0) / POSITIONS[layout]);
        return shares.every((share) => share > 0 && share < 3 / list.length);
      }),
      runs(30),
    );
  });

  it("is the same whatever the order of endpoints and however often they are named", () => {
    fc.assert(
      fc.property(endpoints, (list) => {
        const ring = owners(new HashRing(list, layout), layout);
        const other = owners(new HashRing([...list, ...list].reverse(), layout), layout);
        expect(other.findIndex((owner, i) => owner !== ring[i])).toBe(-1);
      }),
      runs(10),
    );
  });

  it("has no owner without endpoints", () => {
    expect(new HashRing([], layout)).toMatchObject({ isEmpty: true, endpoints: [] });
  });
});

describe("the ring of Collectors before 0.157", () => {
  it("equals the Collector's, so that both can serve the same gateways", () => {
    const ring = new HashRing(["endpoint-1", "endpoint-2"], "legacy");
    const at = (position: number) => ring.endpoints[ring.ownerOf(position)];
    for (const position of [1401, 4175, 14133, 17836, 21667]) expect(at(position)).toBe("endpoint-1");
    for (const position of [10240, 15002, 21263, 26806, 27020]) expect(at(position)).toBe("endpoint-2");
    const trace = (...bytes: number[]) => Buffer.concat([Buffer.from(bytes), Buffer.alloc(16 - bytes.length)]);
    expect(at(zlibCrc32(trace(1, 2)))).toBe("endpoint-1");
    expect(at(zlibCrc32(trace(128, 128)))).toBe("endpoint-2");
  });

  it("sends a key to the endpoint with the next of its hundred points, by an independent CRC-32", () => {
    fc.assert(
      fc.property(endpoints, fc.nat(POSITIONS.legacy - 1), (list, position) => {
        const points = list.toSorted().flatMap((name) =>
          Array.from({ length: 100 }, (_, i) => {
            const at = zlibCrc32(Buffer.concat([Buffer.from(name), Buffer.from([i])])) % POSITIONS.legacy;
            return { name, distance: (at - position + POSITIONS.legacy) % POSITIONS.legacy };
          }),
        );
        // If two endpoints have the same position, the first by name counts.
        const next = points.reduce((best, point) => (point.distance < best.distance ? point : best));
        const ring = new HashRing(list, "legacy");
        expect(ring.endpoints[ring.ownerOf(position)]).toBe(next.name);
      }),
      runs(100),
    );
  });
});

describe("the ring of the Collector since 0.157", () => {
  it("moves the later of two points at one position on, up to ten positions", () => {
    fc.assert(
      fc.property(endpoints, fc.nat(POSITIONS.current - 1), (list, position) => {
        const points = list.flatMap((name) =>
          Array.from({ length: 200 }, (_, i) => {
            const hash = zlibCrc32(Buffer.concat([Buffer.from(name), Buffer.from([i, 0, 0, 0])]));
            return { name, hash, at: hash % POSITIONS.current };
          }),
        );
        points.sort((a, b) => a.at - b.at || a.hash - b.hash || (a.name < b.name ? -1 : 1));
        const taken = new Map<number, string>();
        for (const { name, at } of points) {
          const free = Array.from({ length: 10 }, (_, i) => (at + i) % POSITIONS.current).find((p) => !taken.has(p));
          if (free !== undefined) taken.set(free, name);
        }
        const next = [...taken.keys()].sort((a, b) => a - b).find((p) => p >= position) ?? Math.min(...taken.keys());
        const ring = new HashRing(list);
        expect(ring.endpoints[ring.ownerOf(position)]).toBe(taken.get(next));
      }),
      runs(60),
    );
  });
});

it("hashes as zip does, also in pieces", () => {
  fc.assert(
    fc.property(fc.uint8Array(), fc.nat(), (bytes, at) => {
      const middle = bytes.length === 0 ? 0 : at % bytes.length;
      expect(crc32(crc32(0, bytes, 0, middle), bytes, middle, bytes.length)).toBe(zlibCrc32(bytes));
    }),
    runs(100),
  );
});
