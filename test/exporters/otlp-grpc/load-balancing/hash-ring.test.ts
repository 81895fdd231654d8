import { crc32 as zlibCrc32 } from "node:zlib";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { crc32, HashRing } from "../../../../src/exporters/otlp-grpc/load-balancing/hash-ring.js";
import { runs } from "../../../support/runs.js";

const POSITIONS = 36_000;
const owners = (ring: HashRing) =>
  Array.from({ length: POSITIONS }, (_, position) => ring.endpoints[ring.ownerOf(position)]!);

const endpoint = fc
  .tuple(fc.integer({ min: 0, max: 255 }), fc.integer({ min: 0, max: 255 }))
  .map(([a, b]) => `10.0.${a}.${b}:4317`);
const endpoints = fc.uniqueArray(endpoint, { minLength: 1, maxLength: 12 });

describe("the ring", () => {
  it("moves keys only to a new endpoint, and only from a removed one", () => {
    fc.assert(
      fc.property(endpoints, endpoint, (before, added) => {
        fc.pre(!before.includes(added));
        const [small, large] = [owners(new HashRing(before)), owners(new HashRing([...before, added]))];
        for (let i = 0; i < POSITIONS; i++) if (large[i] !== added && large[i] !== small[i]) return false;
        return true;
      }),
      runs(60),
    );
  });

  it("gives every endpoint a share, none more than three times the even one", () => {
    fc.assert(
      fc.property(endpoints, (list) => {
        const counts = new Map<string, number>();
        for (const owner of owners(new HashRing(list))) counts.set(owner, (counts.get(owner) ?? 0) + 1);
        const shares = list.map((each) => (counts.get(each) ?? 0) / POSITIONS);
        return shares.every((share) => share > 0 && share < 3 / list.length);
      }),
      runs(60),
    );
  });

  it("is the same whatever the order of endpoints and however often they are named", () => {
    fc.assert(
      fc.property(endpoints, (list) => {
        const ring = owners(new HashRing(list));
        expect(owners(new HashRing([...list, ...list].reverse()))).toEqual(ring);
      }),
      runs(20),
    );
  });

  it("equals the Collector's, so that both can serve the same gateways", () => {
    const ring = new HashRing(["endpoint-1", "endpoint-2"]);
    const at = (position: number) => ring.endpoints[ring.ownerOf(position)];
    for (const position of [1401, 4175, 14133, 17836, 21667]) expect(at(position)).toBe("endpoint-1");
    for (const position of [10240, 15002, 21263, 26806, 27020]) expect(at(position)).toBe("endpoint-2");
    const trace = (...bytes: number[]) => Buffer.concat([Buffer.from(bytes), Buffer.alloc(16 - bytes.length)]);
    expect(at(zlibCrc32(trace(1, 2)))).toBe("endpoint-1");
    expect(at(zlibCrc32(trace(128, 128)))).toBe("endpoint-2");
  });

  it("sends a key to the endpoint with the next of its hundred points, by an independent CRC-32", () => {
    fc.assert(
      fc.property(endpoints, fc.nat(POSITIONS - 1), (list, position) => {
        const points = list.toSorted().flatMap((name) =>
          Array.from({ length: 100 }, (_, i) => {
            const at = zlibCrc32(Buffer.concat([Buffer.from(name), Buffer.from([i])])) % POSITIONS;
            return { name, distance: (at - position + POSITIONS) % POSITIONS };
          }),
        );
        // If two endpoints have the same position, the first by name counts.
        const next = points.reduce((best, point) => (point.distance < best.distance ? point : best));
        const ring = new HashRing(list);
        expect(ring.endpoints[ring.ownerOf(position)]).toBe(next.name);
      }),
      runs(100),
    );
  });

  it("has no owner without endpoints", () => {
    expect(new HashRing([])).toMatchObject({ isEmpty: true, endpoints: [] });
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
