import { gzipSync } from "node:zlib";
import { jsonRequest, protoRequest, traceIdOffsets } from "./records.js";
import { stamp, tokenOffsets } from "./token.js";

/**
 * Requests ready to be written: head and body in one buffer, encoded once.
 *
 * Each connection has its own buffer; the record numbers in it are patched for every request, so that a request costs
 * nanoseconds per record. Gzip cannot be patched: a pool of compressed requests is used repeatedly, and a record counts
 * as delivered as often as its request was acknowledged.
 *
 * @typedef {"proto" | "json" | "gzip" | "grpc"} Encoding
 * @typedef {{ signal: import("./records.js").Signal, encoding: Encoding, records: number, run: number, hits?: number,
 *   hasTraceIds?: boolean }} Load hits: of a thousand records, how many have personal data, `THREE_IN_EACH` or
 *   `NUMBER_IN_EACH`; hasTraceIds: ten spans in protobuf are a trace of their own, else all are in one
 * @typedef {{ number: number, bytes: Buffer }} Request
 * @typedef {() => Request} Supply one connection's
 */
export const ENCODINGS = ["proto", "json", "gzip", "grpc"];
const POOL = 64;
const TRACE_SPANS = 10;

/** Returns a function that makes a supply for each connection. @param {Load} load @returns {() => Supply} */
export function supplies(load) {
  return load.encoding === "gzip" ? pooled(load) : patched(load);
}

function patched(/** @type {Load} */ load) {
  const template = frame(load, encode(load, 0));
  const offsets = tokenOffsets(template);
  const traceIds = load.hasTraceIds ? traceIdOffsets(template) : [];
  if (offsets.length !== load.records) throw new Error(`${offsets.length} tokens in ${load.records} records`);
  let last = -1;
  return () => {
    const bytes = Buffer.from(template);
    return () => {
      const number = ++last;
      stamp(bytes, offsets, load.run, number);
      for (const [i, at] of traceIds.entries())
        bytes.writeUInt32BE(
          number,
          bytes.writeUInt16BE(Math.floor(i / TRACE_SPANS), bytes.writeUInt16BE(load.run, at)),
        );
      return { number, bytes };
    };
  };
}

function pooled(/** @type {Load} */ load) {
  const pool = Array.from({ length: POOL }, (_, number) => ({
    number,
    bytes: frame(load, gzipSync(encode(load, number), { level: 1 })),
  }));
  let last = -1;
  return () => () => pool[++last % POOL];
}

function encode(/** @type {Load} */ { encoding, signal, records, run, hits }, /** @type {number} */ request) {
  const make = encoding === "json" ? jsonRequest : protoRequest;
  return make(signal, records, run, request, hits);
}

function frame(/** @type {Load} */ { encoding, signal }, /** @type {Buffer} */ body) {
  if (encoding === "grpc") return Buffer.concat([grpcPrefix(body), body]);
  const head = [
    `POST /v1/${signal} HTTP/1.1`,
    "host: 127.0.0.1",
    `content-type: application/${encoding === "json" ? "json" : "x-protobuf"}`,
    `content-length: ${body.length}`,
    ...(encoding === "gzip" ? ["content-encoding: gzip"] : []),
  ];
  return Buffer.concat([Buffer.from(`${head.join("\r\n")}\r\n\r\n`), body]);
}

function grpcPrefix(/** @type {Buffer} */ body) {
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(body.length, 1);
  return prefix;
}
