import { readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DecompressError } from "../../../../src/runtime/codecs/compression/bounded-output.js";
import { COMPRESSIONS, compress } from "../../../../src/runtime/codecs/compression/compress.js";
import { decompress } from "../../../../src/runtime/codecs/compression/decompress.js";
import { hasZstd } from "../../../../src/runtime/codecs/compression/zstd.js";
import { runs } from "../../../support/runs.js";

const ROOM = { limit: 10_000_000, reserve: (_bytes: number) => true };

const CODECS = COMPRESSIONS.filter((name) => name !== "zstd" || hasZstd).map((name) => ({
  name,
  pack: async (bytes: Buffer) => compress(name, bytes),
  unpack: async (bytes: Buffer, bounds = ROOM) => decompress(name, bytes, bounds),
}));

/** Bytes with and without repeats, near and far. */
const someBytes = fc
  .array(
    fc.oneof(
      fc.uint8Array({ maxLength: 400 }),
      fc.tuple(fc.uint8Array({ minLength: 1, maxLength: 40 }), fc.integer({ min: 1, max: 3000 })).map(repeat),
    ),
    { maxLength: 8 },
  )
  .map((pieces) => Buffer.concat(pieces));

function repeat([piece, times]: [Uint8Array, number]): Uint8Array {
  return Buffer.alloc(piece.length * times, piece);
}

describe.each(CODECS)("$name", ({ name, pack, unpack }) => {
  it("gives back what was compressed", async () => {
    await fc.assert(
      fc.asyncProperty(someBytes, async (bytes) => {
        expect((await unpack(await pack(bytes))).equals(bytes)).toBe(true);
      }),
      runs(40),
    );
  });

  it("never returns less, hangs, or fails with a foreign error, for any change of the input", async () => {
    await fc.assert(
      fc.asyncProperty(someBytes, fc.nat(), fc.nat(255), fc.boolean(), async (bytes, place, value, isCut) => {
        const packed = await pack(bytes);
        const at = Math.max(1, place % packed.length);
        const damaged = Buffer.from(isCut ? packed.subarray(0, at) : packed);
        if (!isCut) damaged[at] = value;
        const result = await unpack(damaged).catch((error: unknown) => error);
        if (Buffer.isBuffer(result)) expect(result.length).toBeLessThanOrEqual(ROOM.limit);
        else expect(result instanceof DecompressError || result instanceof RangeError, String(result)).toBe(true);
        // A framed stream of Snappy has no end: cut between two chunks, it is a shorter stream.
        if (isCut && Buffer.isBuffer(result))
          expect(result.equals(name === "x-snappy-framed" ? bytes.subarray(0, result.length) : bytes)).toBe(true);
      }),
      runs(60),
    );
  });

  it("gives back all of what comes one behind the other, or nothing: never a part of it", async () => {
    await fc.assert(
      fc.asyncProperty(someBytes, someBytes, fc.nat(3), async (one, two, zeros) => {
        const behind = Buffer.concat([Buffer.alloc(zeros), await pack(two)]);
        const result = await unpack(Buffer.concat([await pack(one), behind])).catch((error: unknown) => error);
        if (Buffer.isBuffer(result)) expect(result.equals(Buffer.concat([one, two]))).toBe(true);
        else expect(result instanceof DecompressError || result instanceof RangeError, String(result)).toBe(true);
        const garbage = Buffer.concat([await pack(one), Buffer.from("garbage")]);
        await expect(unpack(garbage)).rejects.toBeInstanceOf(Error);
      }),
      runs(20),
    );
  });

  it("stops at the limit and when there is no room", async () => {
    const packed = await pack(Buffer.alloc(3_000_000, "telemetry "));
    await expect(unpack(packed, { limit: 2_999_999, reserve: () => true })).rejects.toMatchObject({
      fault: "too_large",
    });
    expect((await unpack(packed, { limit: 3_000_000, reserve: () => true })).length).toBe(3_000_000);
    let room = 100_000;
    const reserve = (bytes: number) => (room -= bytes) >= 0;
    await expect(unpack(packed, { limit: 1e9, reserve })).rejects.toMatchObject({ fault: "no_room" });
  });
});

describe("what Go's libraries have packed", () => {
  const packed = JSON.parse(readFileSync(join(import.meta.dirname, "packed-by-go.json"), "utf8"));
  const text = goText(6000);
  const texts: Record<string, Buffer> = { text, repeated: Buffer.alloc(30 * text.length, text) };
  const cases = Object.entries<Record<string, string>>(packed).flatMap(([what, by]) =>
    Object.entries(by)
      .map(([how, bytes]) => ({ what, how, bytes: Buffer.from(bytes, "base64") }))
      .filter(({ how }) => hasZstd || !how.startsWith("zstd")),
  );

  it.each(cases)("is read: $what as $how", async ({ what, how, bytes }) => {
    const name = how.replace(/-(best|grpc|linked)$/, "");
    expect((await decompress(name, bytes, ROOM)).equals(texts[what]!)).toBe(true);
  });

  it.each(cases)("is refused when a byte of its content was changed: $what as $how", async ({ how, what, bytes }) => {
    if (how === "snappy") return; // the block has no checksum
    const damaged = Buffer.from(bytes);
    damaged[damaged.length >> 1]! ^= 0x10;
    const result = await decodeAny(how, damaged).catch((error: Error) => error);
    expect(result).toBeInstanceOf(Error);
    expect(texts[what]).toBeDefined();
  });

  it("is read as snappy when it is framed, which older Collectors call so too", async () => {
    const framed = Buffer.from(packed.text["x-snappy-framed"], "base64");
    expect((await decompress("snappy", framed, ROOM)).equals(text)).toBe(true);
  });

  async function decodeAny(how: string, bytes: Buffer): Promise<Buffer> {
    const name = how.replace(/-(best|grpc|linked)$/, "");
    return decompress(name, bytes, ROOM);
  }
});

describe.runIf(hasZstd)("a zstd body", () => {
  const pack = async (bytes: Buffer) => compress("zstd", bytes);
  const unpack = async (bytes: Buffer, bounds = ROOM) => decompress("zstd", bytes, bounds);
  const skippable = (length: number) => {
    const frame = Buffer.alloc(8 + length, "x");
    frame.writeUInt32LE(0x184d2a53, 0);
    frame.writeUInt32LE(length, 4);
    return frame;
  };

  it("may have several frames, and skippable ones between them", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.oneof(someBytes, fc.nat(50)), { minLength: 1, maxLength: 6 }), async (parts) => {
        const frames = await Promise.all(
          parts.map((part) => (typeof part === "number" ? skippable(part) : pack(part))),
        );
        const content = Buffer.concat(parts.filter((part) => typeof part !== "number"));
        expect((await unpack(Buffer.concat(frames))).equals(content)).toBe(true);
        const whole = Buffer.concat(frames);
        await expect(unpack(whole.subarray(0, -1))).rejects.toMatchObject({ fault: "corrupt" });
      }),
      runs(40),
    );
  });

  it("has its limit over all frames together", async () => {
    const frame = await pack(Buffer.alloc(1000, "telemetry "));
    const body = Buffer.concat([frame, frame, frame]);
    expect((await unpack(body, { ...ROOM, limit: 3000 })).length).toBe(3000);
    await expect(unpack(body, { ...ROOM, limit: 2999 })).rejects.toMatchObject({ fault: "too_large" });
  });

  it("is refused if it consists of very many small frames", async () => {
    const frame = await pack(Buffer.from("x"));
    await expect(unpack(Buffer.concat(Array(1100).fill(frame)))).rejects.toMatchObject({ fault: "corrupt" });
    expect((await unpack(Buffer.concat(Array(900).fill(frame)))).toString()).toBe("x".repeat(900));
  });
});

describe.runIf(hasZstd)("a zstd frame of blocks without content", () => {
  const frameOf = (blocks: number) => {
    const frame = Buffer.alloc(6 + 3 * blocks);
    frame.set([0x28, 0xb5, 0x2f, 0xfd, 0, 0x50]);
    frame[3 + 3 * blocks] = 1; // the last block
    return frame;
  };

  it("is refused if there are very many, and decompressed in the thread pool if there are many bytes", async () => {
    expect((await decompress("zstd", frameOf(10_000), ROOM)).length).toBe(0);
    expect(() => decompress("zstd", frameOf(20_000), ROOM)).toThrow("very many small blocks");
    const content = Buffer.concat([frameOf(10_000).subarray(0, -3), Buffer.alloc(1_100_000)]);
    const raw = [...Array(11).keys()].map((i) => 6 + 3 * 9999 + i * 100_000);
    for (const at of raw) content.writeUIntLE((99_997 << 3) | (at === raw.at(-1) ? 1 : 0), at, 3);
    const unpacked = decompress("zstd", content, ROOM);
    expect(unpacked).toBeInstanceOf(Promise);
    expect((await unpacked).length).toBe(11 * 99_997);
  });
});

describe("a frame that promises much", () => {
  it("takes no memory for its promise", async () => {
    let reserved = 0;
    const reserve = (bytes: number) => {
      reserved += bytes;
      return true;
    };
    // A zstd window of 2 GiB, a Snappy block of 1 GiB, an LZ4 frame of 2^63 bytes: and hardly anything behind them.
    const zstd = Buffer.from("28b52ffd00a8010000", "hex");
    const snappy = Buffer.from("8080808004", "hex");
    if (hasZstd)
      await expect(async () => decompress("zstd", zstd, { limit: 1e9, reserve })).rejects.toMatchObject({
        fault: "corrupt",
      });
    await expect(async () => decompress("snappy", snappy, { limit: 1e9, reserve })).rejects.toMatchObject({
      fault: "corrupt",
    });
    expect(reserved).toBe(0);
  });
});

/** The text that was packed. */
function goText(length: number): Buffer {
  let text = "";
  for (let i = 0; text.length < length; i++) {
    const trace = (BigInt(i) * 2654435761n).toString(16);
    text += `{"n":${i},"service.name":"checkout-${i % 7}","trace":"${trace}","msg":"order ${(i * 31) % 9999} accepted"}\n`;
  }
  return Buffer.from(text.slice(0, length));
}
