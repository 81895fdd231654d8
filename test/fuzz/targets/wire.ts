import { decodeServerToAgent } from "../../../src/extensions/opamp/messages.js";
import { DecompressError } from "../../../src/runtime/codecs/compression/bounded-output.js";
import { compress } from "../../../src/runtime/codecs/compression/compress.js";
import { decompress } from "../../../src/runtime/codecs/compression/decompress.js";
import { hasZstd } from "../../../src/runtime/codecs/compression/zstd.js";
import { AnswerFormatError, AnswerReader } from "../../../src/runtime/net/http1/answer.js";
import { grpcFrame, singleFrame } from "../../../src/runtime/net/otlp/grpc-frame.js";
import { FrameReader, WebSocketError } from "../../../src/runtime/net/websocket/frame-reader.js";
import { proto } from "../../extensions/opamp/proto.js";
import { serverFrame } from "../../runtime/net/websocket/server-frame.js";
import { assert, type FuzzTarget, magnitude, pieces, shapeOf } from "../fuzz.js";
import { mutateBytes } from "../mutate-bytes.js";
import { textMutator } from "../mutate-text.js";
import type { Random } from "../random.js";

const OUTPUT_LIMIT = 32 * 1024;
const CODECS = [
  ["snappy", 8],
  ["x-snappy-framed", 6],
  ...(hasZstd ? [["zstd", 10] as const] : []),
  ["lz4", 8],
  ["gzip", 2],
  ["zlib", 1],
  ["deflate", 1],
] as const;
const PLAIN = [
  Buffer.from("a text, a text, and again a text: abcabcabcabcabcabc"),
  Buffer.alloc(3000, "x"),
  noise(900),
];

const codecTargets: readonly FuzzTarget[] = await Promise.all(
  CODECS.map(async ([name, share]) => ({
    name,
    share,
    seeds: await Promise.all(PLAIN.map((bytes) => compress(name, bytes))),
    mutate: mutateBytes,
    run: (input: Buffer, random: Random) => runCodec(name, input, random),
  })),
);

const HTTP_WORDS = [
  "HTTP/1.1",
  "200",
  "204",
  "100",
  "\r\n",
  "\r\n\r\n",
  ":",
  "content-length",
  "transfer-encoding",
  "chunked",
];

/** Data from sockets: compressed bodies, gRPC's frames, answers of backends. */
export const wireTargets: readonly FuzzTarget[] = [
  ...codecTargets,
  {
    name: "gRPC frames",
    share: 10,
    seeds: [grpcFrame(Buffer.from("a message")), grpcFrame(Buffer.alloc(0)), Buffer.of(1, 0, 0, 0, 2, 1, 2)],
    mutate: mutateBytes,
    run: runFrame,
  },
  {
    name: "HTTP/1.1 answers",
    share: 14,
    seeds: [
      "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nRetry-After: 1\r\n\r\nhello",
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 429 Slow\r\nTransfer-Encoding: chunked\r\n\r\n3;a=b\r\nabc\r\n0\r\nX: y\r\n\r\n",
      "HTTP/1.0 503 No\r\nConnection: close\r\n\r\nuntil the end",
    ].map((text) => Buffer.from(text)),
    mutate: textMutator(HTTP_WORDS),
    run: runAnswer,
  },
  {
    name: "WebSocket frames",
    share: 6,
    seeds: [
      serverFrame(2, Buffer.from("a message")),
      Buffer.concat([serverFrame(2, Buffer.from("a"), { isFinal: false }), serverFrame(9, Buffer.from("?"))]),
      Buffer.concat([serverFrame(2, Buffer.alloc(200)), serverFrame(8, Buffer.of(3, 232))]),
    ],
    mutate: mutateBytes,
    run: runWebSocket,
  },
  {
    name: "OpAMP messages",
    share: 4,
    seeds: [
      proto([1, Buffer.alloc(16)], [6, 1], [8, proto([1, Buffer.alloc(16, 1)])]),
      proto([2, proto([1, 2], [2, "busy"], [3, proto([1, 1_000_000_000n])])]),
      proto([4, proto([2, proto([1, "ws://a"], [4, 30])])]),
    ],
    mutate: mutateBytes,
    run: runOpamp,
  },
];

const MAX_WEBSOCKET_MESSAGE = 1024;

/** The messages do not depend on the chunks, and none exceeds the limit. */
function runWebSocket(input: Buffer, random: Random): string {
  const outcomes = [[input], pieces(input, random)].map((chunks) => {
    const seen: string[] = [];
    const reader = new FrameReader(MAX_WEBSOCKET_MESSAGE, {
      onMessage: (message) => {
        assert(message.length <= MAX_WEBSOCKET_MESSAGE, "a message is too long");
        seen.push(`message ${message.length}`);
      },
      onPing: ({ length }) => seen.push(`ping ${length}`),
      onClose: (code) => seen.push(`close ${code}`),
    });
    try {
      for (const chunk of chunks) reader.read(chunk);
    } catch (error) {
      if (!(error instanceof WebSocketError)) throw error;
      seen.push(`refused ${error.closeCode}`);
    }
    return seen;
  });
  assert(outcomes[0]!.join() === outcomes[1]!.join(), "the chunks made a difference");
  return outcomes[0]!.map((outcome) => outcome.split(" ")[0]).join();
}

function runOpamp(input: Buffer): string {
  const message = decodeServerToAgent(input);
  if (message === undefined) return "refused";
  const { error, wantsFullState, newInstanceUid, heartbeatMs } = message;
  return [error?.isUnavailable, wantsFullState, newInstanceUid?.length === 16, heartbeatMs !== undefined].join();
}

/** It stays within its limit and reserves what it makes; and what is compressed comes back. */
async function runCodec(name: (typeof CODECS)[number][0], input: Buffer, random: Random): Promise<string> {
  if (random.oneIn(8)) {
    const packed = await compress(name, input);
    if (input.length > 0) assert((await unpack(name, packed)).equals(input), "what was compressed has changed");
  }
  try {
    return `unpacked ${magnitude((await unpack(name, input)).length)}`;
  } catch (error) {
    if (!(error instanceof DecompressError)) throw error;
    return `${error.fault} ${shapeOf(error.message)}`;
  }
}

async function unpack(name: string, input: Buffer): Promise<Buffer> {
  let reserved = 0;
  const reserve = (bytes: number) => {
    reserved += bytes;
    return true;
  };
  const output = await decompress(name, input, { limit: OUTPUT_LIMIT, reserve });
  assert(output.length <= OUTPUT_LIMIT, "the output is longer than its limit");
  assert(output.length <= reserved, "less was reserved than was made");
  return output;
}

/** However the bytes are cut, they are the same frame. */
function runFrame(input: Buffer, random: Random): string {
  const whole = singleFrame([input], input.length);
  const cut = singleFrame(pieces(input, random), input.length);
  if (typeof whole === "string" || typeof cut === "string") {
    assert(whole === cut, "the same bytes in other pieces are another frame");
    return String(whole);
  }
  assert(whole.compressed === cut.compressed && whole.message.equals(cut.message), "pieces make another message");
  return `message ${whole.compressed} ${magnitude(whole.message.length)}`;
}

function runAnswer(input: Buffer, random: Random): string {
  const whole = readAnswer([input]);
  const cut = readAnswer(pieces(input, random));
  assert(whole === cut, `the same bytes in other pieces are another answer: ${whole} or ${cut}`);
  return whole;
}

function readAnswer(chunks: readonly Buffer[]): string {
  const reader = new AnswerReader(2000);
  reader.expectAnswer("POST");
  try {
    for (const chunk of chunks) {
      if (reader.isComplete) break;
      const bytes = Buffer.from(chunk);
      assert(reader.read(bytes, bytes.length) <= bytes.length, "more was read than there is");
      bytes.fill(0);
    }
    const { head } = reader;
    const isComplete = reader.readEnd();
    assert(reader.body().length <= 2000, "the body is longer than its limit");
    const kind = head === undefined ? "no" : Math.floor(head.status / 100);
    return `${kind} ${head?.framing} ${isComplete} ${magnitude(reader.body().length)}`;
  } catch (error) {
    if (!(error instanceof AnswerFormatError)) throw error;
    return "refused";
  }
}

function noise(length: number): Buffer {
  return Buffer.from(Array.from({ length }, (_, i) => (i * i * 31 + (i >> 3)) & 255));
}
