import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { BodyChunks } from "../../../../src/runtime/receiving/requests/upload.js";
import { runs } from "../../../support/runs.js";

/** Lengths of a chunk as a reader hands it out: alone, or as a small part of what was read. */
const lengths = fc.tuple(fc.nat({ max: 9000 }), fc.nat({ max: 20_000 }));

function makeChunk([length, around]: [number, number]): Buffer {
  return Buffer.from(new ArrayBuffer(length + around), around, length).fill(length % 251);
}

describe("the chunks of a body", () => {
  it("are the body again, and take no more memory than was asked for and little more than the body", () => {
    fc.assert(
      fc.property(fc.array(lengths, { maxLength: 60 }), (all) => {
        const chunks = all.map(makeChunk);
        const body = new BodyChunks();
        let cost = 0;
        for (const each of chunks) {
          cost += body.costOf(each);
          body.add(each);
        }
        const whole = Buffer.concat(chunks);
        const held = new Set(body.list().map(({ buffer }) => buffer));
        expect(Buffer.concat(body.list()).equals(whole)).toBe(true);
        expect([...held].reduce((sum, { byteLength }) => sum + byteLength, 0)).toBeLessThanOrEqual(4 * cost);
        expect(cost).toBeLessThanOrEqual(3 * whole.length + 512);
        expect(body.size).toBe(whole.length);
        expect(body.take().equals(whole)).toBe(true);
        expect([body.size, body.list()]).toEqual([0, []]);
      }),
      runs(100),
    );
  });

  it("are few when they come a byte at a time", () => {
    const body = new BodyChunks();
    let cost = 0;
    for (let i = 0; i < 300_000; i++) {
      const one = Buffer.from([i & 255]);
      cost += body.costOf(one);
      body.add(one);
    }
    expect(body.list().length).toBeLessThan(20);
    expect(cost).toBeLessThan(400_000);
  });

  it("are crumbs when there are many and they are small, not when there are few or they are larger", () => {
    const add = (count: number, size: number) => {
      const body = new BodyChunks();
      for (let i = 0; i < count; i++) body.add(Buffer.alloc(size));
      return body.isFragmented;
    };
    expect([add(20_000, 1), add(20_000, 31), add(20_000, 32), add(16_000, 1)]).toEqual([true, true, false, false]);
  });

  it("leave a body that comes in one piece where it is", () => {
    const only = Buffer.alloc(100, 1);
    const body = new BodyChunks();
    body.add(only);
    expect(body.take()).toBe(only);
  });

  it("are handed on as they came when they are large", () => {
    const chunks = [Buffer.alloc(65_536, 1), Buffer.alloc(65_536, 2), Buffer.alloc(20_000, 3)];
    const body = new BodyChunks();
    for (const chunk of chunks) body.add(chunk);
    const taken = body.takePieces();
    expect(taken.length).toBe(3);
    for (const [i, piece] of taken.entries()) expect(piece).toBe(chunks[i]);
    expect([body.size, body.list()]).toEqual([0, []]);
  });

  it("are put together when there are many of them, or when they keep much more in memory than themselves", () => {
    const pieces = fc.array(fc.tuple(fc.nat({ max: 80_000 }), fc.nat({ max: 80_000 })), { maxLength: 12 });
    fc.assert(
      fc.property(pieces, (all) => {
        const body = new BodyChunks();
        const chunks = all.map(makeChunk);
        for (const each of chunks) body.add(each);
        const { size } = body;
        const only = body.list().length === 1;
        const taken = body.takePieces();
        expect(Buffer.concat(taken).equals(Buffer.concat(chunks))).toBe(true);
        if (taken.length > 1) expect(size / taken.length).toBeGreaterThanOrEqual(16 * 1024);
        const memory = taken.reduce((sum, { buffer }) => sum + buffer.byteLength, 0);
        if (!only) expect(memory).toBeLessThanOrEqual(Math.max(1.5 * size, Buffer.poolSize));
      }),
      runs(100),
    );
  });
});
