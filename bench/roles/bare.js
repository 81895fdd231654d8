import http from "node:http";
import http2 from "node:http2";
import { parseArgs } from "node:util";
import { CLIENTS, merging } from "../lib/forward.js";

/**
 * The bare forwarder, the baseline: accepts a request on node:http (or gRPC on node:http2), sends its bytes on over
 * kept-alive connections, and answers when the upstream has answered. Each request is sent by itself or, with
 * --merging, together with those that arrived meanwhile. It parses, checks and limits nothing: what remains is the cost
 * of moving the bytes in Node.
 *
 *     node bench/roles/bare.js <listen port> <sink port> [<gRPC port>] [--merging] [--client own|node|sockets]
 */
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { merging: { type: "boolean", default: false }, client: { type: "string", default: "own" } },
});
const [listen, sink, grpc] = positionals.map(Number);
const alone = await CLIENTS[values.client](sink, 256);
const send = values.merging ? merging(alone) : alone;

const server = http.createServer((request, response) => {
  /** @type {Buffer[]} */
  const chunks = [];
  request.on("data", (chunk) => chunks.push(chunk));
  request.on("end", () => {
    const { "content-type": type = "", "content-encoding": encoding } = request.headers;
    send({ path: request.url ?? "/", type, encoding, chunks }, (answer) => {
      const headers = { "content-type": answer.type ?? type, "content-length": answer.body.length };
      response.writeHead(answer.status, headers).end(answer.body);
    });
  });
});
server.listen(listen, "127.0.0.1");

const PATHS = new Map(
  [
    ["logs", "Logs"],
    ["traces", "Trace"],
    ["metrics", "Metrics"],
  ].map(([signal, name]) => [
    `/opentelemetry.proto.collector.${signal === "traces" ? "trace" : signal}.v1.${name}Service/Export`,
    `/v1/${signal}`,
  ]),
);
const PREFIX = 5; // compressed flag and length of a gRPC message
const EMPTY_MESSAGE = Buffer.alloc(PREFIX);
const WINDOW = 16 * 1024 * 1024;

if (grpc) {
  const h2 = http2.createServer({ settings: { initialWindowSize: WINDOW } });
  h2.on("session", (session) => session.setLocalWindowSize(WINDOW));
  h2.on("stream", (stream, headers) => {
    /** @type {Buffer[]} */
    const chunks = [];
    stream.on("error", () => {});
    stream.on("data", (chunk) => chunks.push(/** @type {Buffer} */ (chunk)));
    stream.on("end", () => {
      const body = Buffer.concat(chunks).subarray(PREFIX);
      const path = PATHS.get(headers[":path"] ?? "") ?? "/";
      send({ path, type: "application/x-protobuf", chunks: [body] }, ({ status }) => {
        stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
        stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": status === 200 ? "0" : "14" }));
        stream.end(EMPTY_MESSAGE);
      });
    });
  });
  h2.listen(grpc, "127.0.0.1");
}

process.on("SIGTERM", () => process.exit(0));
