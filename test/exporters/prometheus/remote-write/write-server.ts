import { once } from "node:events";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { onTestFinished } from "vitest";
import { decompress } from "../../../../src/runtime/codecs/compression/decompress.js";
import { after, varint } from "../../../../src/runtime/otlp/bytes/wire.js";
import { all, numberOf, textOf } from "../../../support/telemetry/proto-fields.js";

type Labels = Record<string, string>;

export interface WrittenSeries {
  readonly labels: Labels;
  readonly samples: [value: number, time: number][];
  readonly histograms: number;
  readonly exemplars: { labels: Labels; value: number; time: number }[];
  readonly metadata: object | undefined;
}

export interface WriteRequest {
  readonly headers: IncomingHttpHeaders;
  readonly series: readonly WrittenSeries[];
  readonly symbols: readonly string[];
  readonly metadata: readonly object[];
}

interface WriteServerSettings {
  readonly knowsV2?: boolean;
  readonly answer?: { readonly status: number; readonly headers: Readonly<Record<string, string>> };
}

/**
 * A server that accepts remote write of both versions and keeps the requests. It is written from the specification
 * alone.
 */
export async function startWriteServer({ knowsV2 = true, answer }: WriteServerSettings = {}) {
  const requests: WriteRequest[] = [];
  const server = createServer(async (request, response) => {
    const packed = await buffer(request);
    const body = await decompress("snappy", packed, { limit: 1e8, reserve: () => true });
    const isV2 = request.headers["content-type"]!.includes("v2");
    requests.push({ headers: request.headers, ...(isV2 ? readV2(body) : readV1(body)) });
    const written = isV2 && knowsV2 ? { "x-prometheus-remote-write-samples-written": "1" } : {};
    response.writeHead(answer?.status ?? 204, { ...written, ...answer?.headers }).end();
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/write`, requests };
}

function readSeries(b: Uint8Array, labelsOf: (b: Uint8Array) => Labels, [histograms, exemplars]: [number, number]) {
  return {
    labels: labelsOf(b),
    samples: all(b, 2).map(({ bytes }): [number, number] => [numberOf(bytes, 1), numberOf(bytes, 2)]),
    histograms: all(b, histograms).length,
    exemplars: all(b, exemplars).map(({ bytes }) => ({
      labels: labelsOf(bytes),
      value: numberOf(bytes, 2),
      time: numberOf(bytes, 3),
    })),
  };
}

export function readV1(body: Uint8Array) {
  const labelsOf = (b: Uint8Array) =>
    Object.fromEntries(all(b, 1).map(({ bytes }) => [textOf(bytes, 1), textOf(bytes, 2)]));
  return {
    series: all(body, 1).map(({ bytes }) => ({ ...readSeries(bytes, labelsOf, [4, 3]), metadata: undefined })),
    symbols: [],
    metadata: all(body, 3).map(({ bytes }) => ({
      type: numberOf(bytes, 1),
      name: textOf(bytes, 2),
      help: textOf(bytes, 4),
      unit: textOf(bytes, 5),
    })),
  };
}

function readV2(body: Uint8Array) {
  const symbols = all(body, 4).map(({ bytes }) => Buffer.from(bytes).toString());
  const labelsOf = (b: Uint8Array) => {
    const refs: number[] = [];
    const packed = all(b, 1)[0]?.bytes ?? new Uint8Array();
    for (let p = 0; p < packed.length; p = after) refs.push(varint(packed, p));
    return Object.fromEntries(refs.flatMap((ref, i) => (i % 2 === 0 ? [[symbols[ref], symbols[refs[i + 1]!]]] : [])));
  };
  const series = all(body, 5).map(({ bytes }) => ({
    ...readSeries(bytes, labelsOf, [3, 4]),
    metadata: all(bytes, 5).map(({ bytes: each }) => ({
      type: numberOf(each, 1),
      help: symbols[numberOf(each, 3)],
      unit: symbols[numberOf(each, 4)],
    }))[0],
  }));
  return { series, symbols, metadata: [] };
}
