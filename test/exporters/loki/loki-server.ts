import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { onTestFinished } from "vitest";
import { decompress } from "../../../src/runtime/codecs/compression/decompress.js";
import { all, numberOf, textOf } from "../../support/telemetry/proto-fields.js";

export interface PushedStream {
  readonly labels: string;
  readonly entries: readonly { readonly time: string; readonly line: string }[];
}

interface PushAnswer {
  readonly status: number;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Accepts pushes as Loki's documented HTTP API does, and keeps them: POST, snappy, logproto.PushRequest, 204. */
export async function startLokiServer(answer: (tenant: string) => PushAnswer = () => ({ status: 204 })) {
  const taken: { readonly tenant: string; readonly streams: readonly PushedStream[] }[] = [];
  const server = createServer(async (request, response) => {
    const body = await decompress("snappy", await buffer(request), { limit: 1e8, reserve: () => true });
    const isPush = request.method === "POST" && request.url === "/loki/api/v1/push";
    const isProto = request.headers["content-type"] === "application/x-protobuf";
    const tenant = String(request.headers["x-scope-orgid"] ?? "");
    const { status, body: text = "", headers = {} } = isPush && isProto ? answer(tenant) : { status: 404 };
    if (status === 204) taken.push({ tenant, streams: readPush(body) });
    response.writeHead(status, headers).end(text);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/loki/api/v1/push`, taken };
}

/** The streams of a logproto.PushRequest. */
export function readPush(body: Uint8Array): PushedStream[] {
  return all(body, 1).map(({ bytes }) => readStream(bytes));
}

function readStream(b: Uint8Array): PushedStream {
  const entries = all(b, 2).map(({ bytes }) => {
    const time = all(bytes, 1)[0]!.bytes;
    return { time: `${numberOf(time, 1)}.${String(numberOf(time, 2)).padStart(9, "0")}`, line: textOf(bytes, 2) };
  });
  return { labels: textOf(b, 1), entries };
}
