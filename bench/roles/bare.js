import http from "node:http";
import http2 from "node:http2";

/**
 * The bare forwarder, the baseline: takes a request on node:http (or gRPC on node:http2), puts its chunks together,
 * sends them on with node:http over kept-alive connections, and answers when the upstream has answered.
 * It reads nothing, checks nothing and bounds nothing: what is left is what moving the bytes costs on Node.
 *
 *     node bench/roles/bare.js <listen port> <sink port> [<gRPC port>]
 */
const [listen, sink, grpc] = process.argv.slice(2).map(Number);
const agent = new http.Agent({ keepAlive: true, maxSockets: 256 });

/** Sends a body on; `done` gets the upstream's status, 502 if there is none. */
function forward(
  /** @type {string} */ path,
  /** @type {http.OutgoingHttpHeaders} */ headers,
  /** @type {Buffer} */ body,
  /** @type {(status: number, type: string | undefined, body: Buffer) => void} */ done,
) {
  const options = { host: "127.0.0.1", port: sink, method: "POST", path, headers, agent };
  const request = http.request(options, (response) => {
    /** @type {Buffer[]} */
    const chunks = [];
    response.on("data", (chunk) => chunks.push(chunk));
    response.on("end", () => done(response.statusCode ?? 502, response.headers["content-type"], Buffer.concat(chunks)));
  });
  request.on("error", () => done(502, undefined, Buffer.alloc(0)));
  request.end(body);
}

const server = http.createServer((request, response) => {
  /** @type {Buffer[]} */
  const chunks = [];
  request.on("data", (chunk) => chunks.push(chunk));
  request.on("end", () => {
    const body = Buffer.concat(chunks);
    const { "content-type": type = "", "content-encoding": encoding } = request.headers;
    const headers = { "content-type": type, "content-length": body.length };
    forward(request.url ?? "/", encoding ? { ...headers, "content-encoding": encoding } : headers, body, answer);
  });
  function answer(/** @type {number} */ status, /** @type {string | undefined} */ type, /** @type {Buffer} */ body) {
    response.writeHead(status, { "content-type": type ?? "text/plain", "content-length": body.length }).end(body);
  }
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
      forward(path, { "content-type": "application/x-protobuf", "content-length": body.length }, body, (status) => {
        stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
        stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": status === 200 ? "0" : "14" }));
        stream.end(EMPTY_MESSAGE);
      });
    });
  });
  h2.listen(grpc, "127.0.0.1");
}

process.on("SIGTERM", () => process.exit(0));
