import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { FrameReader, WebSocketError } from "../../../../src/runtime/net/websocket/frame-reader.js";
import { runs } from "../../../support/runs.js";
import { serverFrame } from "./server-frame.js";

const LIMIT = 1000;

interface Seen {
  readonly messages: Buffer[];
  readonly pings: Buffer[];
  readonly closes: { code: number; reason: string }[];
}

function readerOf(limit = LIMIT) {
  const seen: Seen = { messages: [], pings: [], closes: [] };
  const reader = new FrameReader(limit, {
    onMessage: (message) => seen.messages.push(message),
    onPing: (payload) => seen.pings.push(Buffer.from(payload)),
    onClose: (code, reason) => seen.closes.push({ code, reason }),
  });
  return { reader, seen };
}

function errorOf(bytes: Buffer, limit = LIMIT): WebSocketError {
  try {
    readerOf(limit).reader.read(bytes);
  } catch (error) {
    if (error instanceof WebSocketError) return error;
    throw error;
  }
  throw new Error("it was accepted");
}

const header = (...bytes: number[]) => Buffer.from(bytes);

describe("a frame reader", () => {
  it("reads the same messages and pings from any fragments in any chunks", () => {
    const fragments = fc.array(fc.uint8Array({ maxLength: 300 }), { minLength: 1, maxLength: 4 });
    const part = fc.record({ fragments, ping: fc.option(fc.uint8Array({ maxLength: 125 })) });
    fc.assert(
      fc.property(fc.array(part, { maxLength: 4 }), fc.array(fc.nat(400)), (parts, cuts) => {
        const frames = parts.flatMap(({ fragments: pieces, ping }) => [
          ...pieces.map((bytes, i) => serverFrame(i === 0 ? 2 : 0, bytes, { isFinal: i === pieces.length - 1 })),
          ...(ping === null ? [] : [serverFrame(9, ping)]),
        ]);
        const { reader, seen } = readerOf(2000);
        const stream = Buffer.concat(frames);
        let at = 0;
        for (const cut of [...cuts, stream.length]) {
          reader.read(stream.subarray(at, at + cut));
          at += cut;
        }
        if (at < stream.length) reader.read(stream.subarray(at));
        expect(seen.messages).toEqual(parts.map(({ fragments: pieces }) => Buffer.concat(pieces)));
        expect(seen.pings).toEqual(parts.flatMap(({ ping }) => (ping === null ? [] : [Buffer.from(ping)])));
      }),
      runs(200),
    );
  });

  it("reads a ping between the fragments of a message", () => {
    const { reader, seen } = readerOf();
    reader.read(
      Buffer.concat([
        serverFrame(2, Buffer.from("ab"), { isFinal: false }),
        serverFrame(9, Buffer.from("?")),
        serverFrame(0, Buffer.from("cd")),
      ]),
    );
    expect(seen).toEqual({ messages: [Buffer.from("abcd")], pings: [Buffer.from("?")], closes: [] });
  });

  it("reads nothing after a close frame", () => {
    const { reader, seen } = readerOf();
    const close = serverFrame(8, Buffer.concat([header(0x03, 0xe9), Buffer.from("going away")]));
    reader.read(Buffer.concat([close, serverFrame(2, Buffer.from("late"))]));
    expect(seen).toEqual({ messages: [], pings: [], closes: [{ code: 1001, reason: "going away" }] });
  });

  it("refuses a message of a gigabyte as soon as it is announced", () => {
    const announced = header(0x82, 127, 0, 0, 0, 0, 0x40, 0, 0, 0);
    expect(errorOf(announced)).toMatchObject({ closeCode: 1009 });
  });

  it("refuses fragments that together are longer than a message may be", () => {
    const fragment = (opcode: number) => serverFrame(opcode, Buffer.alloc(600), { isFinal: false });
    expect(errorOf(Buffer.concat([fragment(2), fragment(0)]))).toMatchObject({ closeCode: 1009 });
  });

  it("keeps no more than the bytes of a message that comes in very many fragments", () => {
    const limit = 4 * 1024 * 1024;
    const { reader, seen } = readerOf(limit);
    const first = serverFrame(2, Buffer.of(1), { isFinal: false });
    const next = serverFrame(0, Buffer.of(1), { isFinal: false });
    reader.read(first);
    const many = Buffer.concat(Array.from({ length: 20_000 }, () => next));
    const before = process.memoryUsage().arrayBuffers;
    for (let i = 0; i < 50; i++) reader.read(many);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(8 * 1024 * 1024);
    reader.read(serverFrame(0, Buffer.alloc(0)));
    expect(seen.messages.map(({ length }) => length)).toEqual([1_000_001]);
  });

  it.each([
    ["a masked frame", header(0x82, 0x81, 1, 2, 3, 4, 5), 1002],
    ["reserved bits", header(0xc2, 1, 0), 1002],
    ["a data opcode that does not exist", header(0x83, 0), 1002],
    ["a control opcode that does not exist", header(0x8b, 0), 1002],
    ["a continuation of nothing", header(0x80, 0), 1002],
    ["a message inside another", header(0x02, 0, 0x82, 0), 1002],
    ["a fragmented ping", header(0x09, 0), 1002],
    ["a ping of 126 bytes", header(0x89, 126, 0, 126), 1002],
    ["a length in more bytes than it needs", header(0x82, 126, 0, 5), 1002],
    ["a long length in more bytes than it needs", header(0x82, 127, 0, 0, 0, 0, 0, 0, 0xff, 0xff), 1002],
    ["a close frame with half a code", header(0x88, 1, 3), 1002],
    ["text", header(0x81, 1, 0x61), 1003],
  ])("refuses %s", (_, bytes, closeCode) => {
    expect(errorOf(bytes)).toMatchObject({ closeCode });
  });
});
