import { connect } from "node:net";
import { describe, it } from "vitest";
import { type Batch, batchToJson } from "../../../src/plugin.js";
import { otlpReceiver } from "../../../src/receivers/otlp/component.js";
import { OTLP_SERVICES } from "../../../src/runtime/net/otlp/services.js";
import { type ClientAnswer, receiverConformance } from "../../../src/testing.js";
import { CONDITION_LIMIT_MS as patienceMs } from "../../support/limits.js";
import { GrpcJsClient } from "./grpc-client.js";
import { JSON_HEADERS, PROTO, post } from "./harness.js";

function answerOf(status: number): ClientAnswer {
  if (status === 200) return "accepted";
  return [429, 502, 503, 504].includes(status) ? "retry" : "rejected";
}

/** RESOURCE_EXHAUSTED and UNAVAILABLE ask for a retry. Without a server, the client itself reports UNAVAILABLE. */
function answerOfCode(code: number): ClientAnswer {
  if (code === 0) return "accepted";
  return code === 8 || code === 14 ? "retry" : "rejected";
}

const http = (port: number) => ({ protocols: { http: { endpoint: `127.0.0.1:${port}` } } });
const grpc = (port: number) => ({ protocols: { grpc: { endpoint: `127.0.0.1:${port}` } } });

async function sendPart(batch: Batch, port: number) {
  const socket = connect(port, "127.0.0.1");
  const answer = new Promise<ClientAnswer>((resolve) => {
    let text = "";
    socket.on("data", (chunk) => {
      text += chunk.toString("latin1");
    });
    socket.on("error", () => {});
    socket.on("close", () => resolve(text === "" ? "unreachable" : answerOf(Number(text.split(" ")[1]))));
  });
  const half = batch.bytes.subarray(0, batch.byteLength >> 1);
  const head = [
    `POST ${OTLP_SERVICES[batch.signal].httpPath} HTTP/1.1`,
    "Host: x",
    "Content-Type: application/x-protobuf",
    `Content-Length: ${batch.byteLength}`,
  ];
  const written = Buffer.concat([Buffer.from(`${head.join("\r\n")}\r\n\r\n`), half]);
  await new Promise<void>((resolve) => socket.write(written, () => resolve()));
  return { answer };
}

describe("the otlp receiver, over HTTP", () => {
  const send = async (batch: Batch, port: number) => {
    const isJson = batch.count % 2 === 0;
    const body = isJson ? batchToJson(batch) : Buffer.from(batch.bytes);
    const path = OTLP_SERVICES[batch.signal].httpPath;
    return answerOf((await post(port, path, body, isJson ? JSON_HEADERS : PROTO)).status);
  };
  for (const { name, run } of receiverConformance(otlpReceiver, { config: http, send, sendPart, patienceMs }))
    it(name, run);
});

describe("the otlp receiver, over gRPC", () => {
  const send = async (batch: Batch, port: number) => {
    const client = new GrpcJsClient(port);
    const { code } = await client.export(batch.signal, Buffer.from(batch.bytes));
    client.close();
    return answerOfCode(code);
  };
  for (const { name, run } of receiverConformance(otlpReceiver, { config: grpc, send, patienceMs })) it(name, run);
});
