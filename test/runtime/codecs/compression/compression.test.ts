import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as zlib from "node:zlib";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { BoundedOutput, DecompressError } from "../../../../src/runtime/codecs/compression/bounded-output.js";
import { COMPRESSIONS, compress } from "../../../../src/runtime/codecs/compression/compress.js";
import { decompress } from "../../../../src/runtime/codecs/compression/decompress.js";
import { decodeZstd } from "../../../../src/runtime/codecs/compression/zstd-decode.js";
import { encodeZstd } from "../../../../src/runtime/codecs/compression/zstd-encode.js";
import { runs } from "../../../support/runs.js";

const ROOM = { limit: 10_000_000, reserve: (_bytes: number) => true };

/** Node.js has zstd of its own from 22.15 on; ours is tried in any version. */
function decodeOwnZstd(bytes: Buffer, bounds = ROOM): Buffer {
  const output = new BoundedOutput(bounds);
  for (const _ of decodeZstd(bytes, output));
  return output.written();
}

const CODECS = [
  ...COMPRESSIONS.map((name) => ({
    name: name as string,
    pack: async (bytes: Buffer) => compress(name, bytes),
    unpack: async (bytes: Buffer, bounds = ROOM) => decompress(name, bytes, bounds),
  })),
  {
    name: "our own zstd",
    pack: async (bytes: Buffer) => encodeZstd(bytes),
    unpack: async (bytes: Buffer, bounds = ROOM) => decodeOwnZstd(bytes, bounds),
  },
];

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
    Object.entries(by).map(([how, bytes]) => ({ what, how, bytes: Buffer.from(bytes, "base64") })),
  );

  it.each(cases)("is read: $what as $how", async ({ what, how, bytes }) => {
    const name = how.replace(/-(best|grpc|linked)$/, "");
    expect((await decompress(name, bytes, ROOM)).equals(texts[what]!)).toBe(true);
    if (name === "zstd") expect(decodeOwnZstd(bytes).equals(texts[what]!)).toBe(true);
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
    return name === "zstd" ? decodeOwnZstd(bytes) : decompress(name, bytes, ROOM);
  }
});

describe.runIf("zstdDecompressSync" in zlib)("zstd of Node.js", () => {
  const node = zlib as typeof zlib & { zstdDecompressSync(b: Buffer): Buffer; zstdCompressSync(b: Buffer): Buffer };

  it("reads what our encoder writes, and our decoder what it writes", () => {
    fc.assert(
      fc.property(someBytes, (bytes) => {
        expect(node.zstdDecompressSync(encodeZstd(bytes)).equals(bytes)).toBe(true);
        expect(decodeOwnZstd(node.zstdCompressSync(bytes)).equals(bytes)).toBe(true);
      }),
      runs(40),
    );
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
    expect(decodeOwnZstd(zstd, { limit: 1e9, reserve }).length).toBe(0);
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
