import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Refusal } from "../../../../src/plugin.js";
import { grpcFrame, singleFrame } from "../../../../src/runtime/net/otlp/grpc-frame.js";
import {
  decodeGrpcMessage,
  encodeGrpcMessage,
  GRPC_STATUS,
  parseGrpcTimeout,
} from "../../../../src/runtime/net/otlp/grpc-status.js";
import { answerOfRefusal, parseRetryAfter, retryAfterSeconds } from "../../../../src/runtime/net/otlp/refusals.js";
import { decodeResponse, encodeResponse } from "../../../../src/runtime/net/otlp/response.js";
import { decodeStatus, encodeStatus } from "../../../../src/runtime/net/otlp/rpc-status.js";
import { encodingOf } from "../../../../src/runtime/net/otlp/services.js";
import { SIGNALS } from "../../../../src/runtime/otlp/signals/signal.js";

const encodings = fc.constantFrom("proto" as const, "json" as const);
const signals = fc.constantFrom(...SIGNALS);

describe("google.rpc.Status", () => {
  it("comes back as it went out, RetryInfo included", () => {
    const status = fc.record(
      { code: fc.nat(16), message: fc.string({ unit: "grapheme" }), retryAfterMs: fc.nat(1e7) },
      { requiredKeys: ["code", "message"] },
    );
    fc.assert(
      fc.property(status, encodings, (sent, encoding) => {
        expect(decodeStatus(encodeStatus(sent, encoding), encoding)).toEqual(sent);
      }),
    );
  });

  it("has the wire form that others read", () => {
    const bytes = encodeStatus({ code: 14, message: "hi", retryAfterMs: 1500 }, "proto");
    const type = Buffer.from("type.googleapis.com/google.rpc.RetryInfo").toString("hex");
    const delay = "0a0808011080cab5ee01";
    expect(bytes.toString("hex")).toBe(`080e120268691a360a28${type}120a${delay}`);
  });
});

describe("Export*ServiceResponse", () => {
  it("comes back as it went out", () => {
    const partial = fc.record({ rejected: fc.nat(), message: fc.string({ minLength: 1 }) });
    fc.assert(
      fc.property(partial, signals, encodings, (sent, signal, encoding) => {
        expect(decodeResponse(signal, encoding, encodeResponse(signal, encoding, sent))).toEqual(sent);
      }),
    );
  });

  it("leaves partial_success unset when there is nothing to say", () => {
    expect(encodeResponse("logs", "proto", { rejected: 0, message: "" })).toHaveLength(0);
    expect(encodeResponse("logs", "json").toString()).toBe("{}");
  });

  it("is never taken for less when it was cut", () => {
    const partial = fc.record({ rejected: fc.integer({ min: 1 }), message: fc.string() });
    fc.assert(
      fc.property(partial, signals, encodings, fc.nat(), (sent, signal, encoding, at) => {
        const body = encodeResponse(signal, encoding, sent);
        const cut = body.subarray(0, 1 + (at % (body.length - 1)));
        expect(decodeResponse(signal, encoding, cut)).toBe("unreadable");
      }),
    );
  });

  it("may say what it has to say in any order, and in parts", () => {
    const message = Buffer.from([0x12, 2, 0x6e, 0x6f]);
    const rejected = Buffer.from([0x08, 3]);
    const within = (bytes: Buffer) => Buffer.concat([Buffer.from([0x0a, bytes.length]), bytes]);
    for (const body of [
      within(Buffer.concat([message, rejected])),
      Buffer.concat([within(rejected), within(message)]),
      Buffer.concat([within(message), Buffer.from([0x7d, 1, 2, 3, 4]), within(rejected)]),
    ]) {
      expect(decodeResponse("logs", "proto", body)).toEqual({ rejected: 3, message: "no" });
    }
  });

  it("understands snake_case and numbers", () => {
    const body = Buffer.from('{"partial_success":{"rejected_spans":3,"error_message":"x"}}');
    expect(decodeResponse("traces", "json", body)).toEqual({ rejected: 3, message: "x" });
  });
});

it("reading statuses and responses never throws", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), signals, encodings, (bytes, signal, encoding) => {
      decodeStatus(bytes, encoding);
      decodeResponse(signal, encoding, bytes);
    }),
  );
  for (const text of ["null", "[]", "7", "{", '{"partialSuccess":7}', '{"partialSuccess":{"rejectedSpans":{}}}']) {
    expect(decodeResponse("traces", "json", Buffer.from(text))).toBe("unreadable");
  }
  expect(decodeResponse("traces", "json", Buffer.from('{"partialSuccess":null}'))).toBeUndefined();
  decodeStatus(Buffer.from('{"details":[null,7]}'), "json");
});

describe("gRPC's headers", () => {
  it("keep any message", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", maxLength: 80 }), (text) => {
        const encoded = encodeGrpcMessage(text);
        expect(encoded).toMatch(/^[\x20-\x7e]*$/);
        expect(decodeGrpcMessage(encoded)).toBe(text);
      }),
    );
  });

  it("hold a timeout", () => {
    const timeouts = ["1H", "2M", "3S", "4m", "5000u", "6000000n", "123456789S", "5", "x", undefined];
    expect(timeouts.map(parseGrpcTimeout)).toEqual([
      3_600_000,
      120_000,
      3000,
      4,
      5,
      6,
      ...[undefined, undefined, undefined, undefined],
    ]);
  });
});

it("a frame is found however its bytes are split", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), fc.array(fc.nat(305), { maxLength: 8 }), (message, cuts) => {
      const frame = grpcFrame(message);
      const at = [0, ...cuts.map((cut) => Math.min(cut, frame.length)).sort((a, b) => a - b), frame.length];
      const chunks = at.slice(1).map((end, i) => frame.subarray(at[i], end));
      const found = singleFrame(chunks, frame.length);
      expect(found).toEqual({ compressed: false, message: Buffer.from(message) });
    }),
  );
});

it("Retry-After is seconds or a date", () => {
  const now = Date.parse("2030-01-01T00:00:00Z");
  expect(parseRetryAfter("120", now)).toBe(120_000);
  expect(parseRetryAfter("Tue, 01 Jan 2030 00:00:30 GMT", now)).toBe(30_000);
  expect(parseRetryAfter("Mon, 31 Dec 2029 00:00:00 GMT", now)).toBe(0);
  for (const text of ["soon", "-5", "", undefined]) expect(parseRetryAfter(text, now)).toBeUndefined();
  expect([1, 999, 1000, 1001].map(retryAfterSeconds)).toEqual(["1", "1", "1", "2"]);
});

it("every retryable refusal says when to come back", () => {
  for (const kind of ["transient", "throttled"] as const) {
    expect(answerOfRefusal(new Refusal(kind, "x")).retryAfterMs).toBe(1000);
    expect(answerOfRefusal(new Refusal(kind, "x", { retryAfterMs: 7 })).retryAfterMs).toBe(7);
  }
  expect(answerOfRefusal(new Refusal("permanent", "x")).retryAfterMs).toBeUndefined();
});

it.each([
  ["permanent", "HTTP 401", 401, "UNAUTHENTICATED"],
  ["permanent", "UNAUTHENTICATED", 401, "UNAUTHENTICATED"],
  ["permanent", "HTTP 403", 403, "PERMISSION_DENIED"],
  ["permanent", "PERMISSION_DENIED", 403, "PERMISSION_DENIED"],
  ["permanent", "HTTP 404", 404, "UNIMPLEMENTED"],
  ["permanent", "HTTP 415", 400, "INVALID_ARGUMENT"],
  ["permanent", undefined, 400, "INVALID_ARGUMENT"],
  ["transient", "HTTP 429", 429, "UNAVAILABLE"],
  ["throttled", "HTTP 503", 503, "UNAVAILABLE"],
  ["transient", "HTTP 500", 503, "UNAVAILABLE"],
  ["throttled", undefined, 429, "UNAVAILABLE"],
  ["transient", undefined, 503, "UNAVAILABLE"],
] as const)("answers a %s refusal of a backend that said %s with %i and %s", (kind, status, httpStatus, code) => {
  const refusal = new Refusal(kind, "x", status === undefined ? {} : { status });
  expect(answerOfRefusal(refusal)).toMatchObject({ httpStatus, code: GRPC_STATUS[code] });
});

it("a content type names the encoding in any dress", () => {
  expect(["application/json;charset=utf-8", "Application/X-Protobuf", "text/json", undefined].map(encodingOf)).toEqual([
    "json",
    "proto",
    undefined,
    undefined,
  ]);
});
