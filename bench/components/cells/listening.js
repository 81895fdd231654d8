import { createSocket } from "node:dgram";
import { once } from "node:events";
import http from "node:http";
import net from "node:net";
import { Batch } from "../../../dist/plugin.js";
import { FORWARD_ANSWER, forwardEvent, plainLine, syslogLine, thriftBatch } from "../foreign-load.js";
import { bareBytes, bareGrpc, bareHttp, bareLines, barePackets, component, listening } from "../kit.js";
import { seeded, spans, sums } from "../load.js";

const SPANS = 1000;
const RECORDS = 1000;
/** Number of packets that a UDP socket buffers until it is read. */
const PACKETS_AT_ONCE = 100;
const READS_ANSWERS = "a server of node:http that reads and answers";

/** Receivers that get data from another process. @type {Record<string, import("../cells.js").Cell>} */
export const LISTENING_CELLS = {
  "jaeger, thrift over HTTP": {
    of: "receiver/jaeger",
    unit: "span",
    base: READS_ANSWERS,
    start: () => startJaeger("thrift_http"),
    drive: async ({ port }) => {
      const body = thriftBatch(SPANS);
      const headers = { "content-type": "application/vnd.apache.thrift.binary", "content-length": body.length };
      return async () => {
        await post({ port, path: "/api/traces", headers }, body);
        return SPANS;
      };
    },
  },
  "jaeger, gRPC": {
    of: "receiver/jaeger",
    unit: "span",
    base: "a server of node:http2 that reads and answers",
    start: () => startJaeger("grpc"),
    drive: ({ port }) =>
      sendingSpans("exporter/jaeger", {
        endpoint: `127.0.0.1:${port}`,
        tls: { insecure: true },
        compression: "none",
      }),
  },
  "zipkin, JSON": {
    of: "receiver/zipkin",
    unit: "span",
    base: READS_ANSWERS,
    start: async () => {
      const keys = { endpoint: "127.0.0.1:0" };
      return listening({ of: "receiver/zipkin", keys, signal: "traces", bare: await bareHttp() });
    },
    drive: ({ port }) => sendingSpans("exporter/zipkin", { endpoint: `http://127.0.0.1:${port}/api/v2/spans` }),
  },
  "fluent_forward, a thousand records an event": {
    of: "receiver/fluent_forward",
    unit: "record",
    base: "a server of node:net that reads and answers",
    start: async () => {
      const bare = await bareBytes(forwardEvent(RECORDS).length, FORWARD_ANSWER);
      const keys = { endpoint: "127.0.0.1:0" };
      return listening({ of: "receiver/fluent_forward", keys, signal: "logs", bare });
    },
    drive: async ({ port }) => {
      const event = forwardEvent(RECORDS);
      const socket = await connected(port);
      return async () => {
        socket.write(event);
        for (let size = 0; size < FORWARD_ANSWER.length; ) size += (await once(socket, "data"))[0].length;
        return RECORDS;
      };
    },
  },
  tcp_log: {
    of: "receiver/tcp_log",
    unit: "record",
    base: "a server of node:net that counts lines",
    start: async () =>
      listening({ of: "receiver/tcp_log", ...netLog({ listen_address: "127.0.0.1:0" }), bare: await bareLines() }),
    drive: (at) => sendingLines(at, plainLine),
  },
  udp_log: {
    of: "receiver/udp_log",
    unit: "record",
    base: "a socket of node:dgram that counts packets",
    start: async () =>
      listening({ of: "receiver/udp_log", ...netLog({ listen_address: "127.0.0.1:0" }), bare: await barePackets() }),
    drive: (at) => sendingPackets(at, plainLine),
  },
  "awsxray, segments over UDP": {
    of: "receiver/awsxray",
    unit: "span",
    base: "a socket of node:dgram that counts packets",
    start: async () => {
      const keys = { endpoint: "127.0.0.1:0" };
      return listening({ of: "receiver/awsxray", keys, signal: "traces", bare: await barePackets() });
    },
    drive: (at) => sendingPackets(at, xraySegment),
  },
  "statsd, timers over TCP, each a point": {
    of: "receiver/statsd",
    unit: "sample",
    base: "a server of node:net that counts lines",
    goal: 5,
    start: async () => {
      const keys = { endpoint: "127.0.0.1:0", transport: "tcp", aggregation_interval: "10ms" };
      return listening({ of: "receiver/statsd", keys, signal: "metrics", bare: await bareLines() });
    },
    drive: (at) => sendingLines(at, (i) => `shop.checkout.time:${i % 97}|ms|#region:eu-${i % 7},code:${i % 5}`),
  },
  "prometheus_remote_write receiver": {
    of: "receiver/prometheus_remote_write",
    unit: "sample",
    base: READS_ANSWERS,
    goal: 5,
    start: async () => {
      const keys = { endpoint: "127.0.0.1:0" };
      return listening({ of: "receiver/prometheus_remote_write", keys, signal: "metrics", bare: await bareHttp() });
    },
    drive: async (at) => {
      const { body, headers } = await writtenByExporter();
      return posting(at, "/api/v1/write", body, headers);
    },
  },
  "splunk_hec, a thousand events a request": {
    of: "receiver/splunk_hec",
    unit: "record",
    base: READS_ANSWERS,
    goal: 5,
    start: async () => {
      const keys = { endpoint: "127.0.0.1:0" };
      return listening({ of: "receiver/splunk_hec", keys, signal: "logs", bare: await bareHttp() });
    },
    drive: (at) => posting(at, "/services/collector", hecEvents()),
  },
  "webhook_event, a thousand lines a request": {
    of: "receiver/webhook_event",
    unit: "record",
    base: READS_ANSWERS,
    goal: 5,
    start: async () => {
      const keys = { endpoint: "127.0.0.1:0", split_logs_at_newline: true, max_request_body_size: 0 };
      return listening({ of: "receiver/webhook_event", keys, signal: "logs", bare: await bareHttp() });
    },
    drive: (at) =>
      posting(at, "/events", Buffer.from(Array.from({ length: RECORDS }, (_, i) => plainLine(i)).join("\n"))),
  },
  "faro, a thousand logs a request": {
    of: "receiver/faro",
    unit: "record",
    base: READS_ANSWERS,
    goal: 5,
    start: async () => {
      const keys = { endpoint: "127.0.0.1:0" };
      return listening({ of: "receiver/faro", keys, signal: "logs", bare: await bareHttp() });
    },
    drive: (at) => posting(at, "/faro", faroLogs(), { "content-type": "application/json" }),
  },
  "syslog, RFC 5424 over TCP": {
    of: "receiver/syslog",
    unit: "record",
    base: "a server of node:net that counts lines",
    start: async () => {
      const keys = { protocol: "rfc5424", tcp: { listen_address: "127.0.0.1:0" } };
      return listening({ of: "receiver/syslog", ...netLog(keys), bare: await bareLines() });
    },
    drive: (at) => sendingLines(at, syslogLine),
  },
};

/** @param {object} keys */
const netLog = (keys) => ({ keys, signal: "logs" });

async function startJaeger(/** @type {"thrift_http" | "grpc"} */ protocol) {
  return listening({
    of: "receiver/jaeger",
    keys: { protocols: { [protocol]: { endpoint: "127.0.0.1:0" } } },
    signal: "traces",
    bare: await (protocol === "grpc" ? bareGrpc() : bareHttp()),
    portOf: (receiver) => receiver.ports[protocol],
  });
}

/** Sends spans with our own exporter, for protocols without another client here. */
async function sendingSpans(/** @type {string} */ of, /** @type {object} */ keys) {
  const exporter = await component(of, keys);
  await exporter.start?.();
  const batch = Batch.admit("traces", spans(SPANS, 100, seeded()));
  return async () => {
    await exporter.send(batch, new AbortController().signal);
    return batch.count;
  };
}

/** Ten thousand lines per turn, because asking over IPC whether they have arrived takes some CPU too. */
async function sendingLines(
  /** @type {import("../cells.js").DrivenSide} */ { port, arrived },
  /** @type {(i: number) => string} */ line,
) {
  const lines = 10 * RECORDS;
  const text = Buffer.from(`${Array.from({ length: lines }, (_, i) => line(i)).join("\n")}\n`);
  const socket = await connected(port);
  let sent = 0;
  return async () => {
    socket.write(text);
    sent += lines;
    await arrived(sent);
    return lines;
  };
}

/** As many packets per turn as a socket buffers. */
async function sendingPackets(
  /** @type {import("../cells.js").DrivenSide} */ { port, arrived },
  /** @type {(i: number) => string} */ packetOf,
) {
  const socket = createSocket("udp4").unref();
  const packets = Array.from({ length: PACKETS_AT_ONCE }, (_, i) => Buffer.from(packetOf(i)));
  let sent = 0;
  return async () => {
    await Promise.all(packets.map((packet) => new Promise((done) => socket.send(packet, port, "127.0.0.1", done))));
    sent += PACKETS_AT_ONCE;
    await arrived(sent);
    return PACKETS_AT_ONCE;
  };
}

async function connected(/** @type {number} */ port) {
  const socket = net.connect(port, "127.0.0.1");
  await once(socket, "connect");
  return socket;
}

/** Events as Docker's log driver sends them. */
function hecEvents() {
  const event = (/** @type {number} */ i) => ({
    time: String(1_700_000_000 + i / 1000),
    host: `node-${i % 4}`,
    source: "docker",
    sourcetype: "shop",
    event: { line: plainLine(i), tag: "3f2a91c07b1e", source: "stdout" },
    fields: { region: "eu", pod: `checkout-${i % 7}` },
  });
  return Buffer.from(Array.from({ length: RECORDS }, (_, i) => JSON.stringify(event(i))).join(""));
}

/** A segment as X-Ray's SDKs send it. */
function xraySegment(/** @type {number} */ i) {
  const segment = {
    name: "shop",
    id: (i + 1).toString(16).padStart(16, "0"),
    start_time: 1632145224.123,
    end_time: 1632145224.456,
    trace_id: "1-5f84c7a1-e7d1852db8c4fd35d88bf49a",
    http: { request: { method: "GET", url: "http://shop/cart", client_ip: "10.0.0.1" }, response: { status: 200 } },
    aws: { account_id: "123", xray: { sdk: "X-Ray for Go", sdk_version: "1.8" } },
    annotations: { customer: `c${i}` },
  };
  return `{"format":"json","version":1}\n${JSON.stringify(segment)}`;
}

/** Logs as Faro's SDK sends them. */
function faroLogs() {
  const log = (/** @type {number} */ i) => ({
    message: plainLine(i),
    level: "info",
    context: { component: "checkout" },
    timestamp: "2026-01-31T10:46:17.680Z",
  });
  const meta = { app: { name: "shop", version: "1.2" }, session: { id: "abcd" }, browser: { name: "chrome" } };
  return Buffer.from(JSON.stringify({ logs: Array.from({ length: RECORDS }, (_, i) => log(i)), meta }));
}

/** A request of remote write 2.0 with a thousand samples, as our own exporter sends it. */
async function writtenByExporter() {
  /** @type {Buffer[]} */ const chunks = [];
  /** @type {http.IncomingHttpHeaders} */ let headers = {};
  const server = http.createServer((request, response) => {
    headers = request.headers;
    request.on("data", (chunk) => chunks.push(chunk));
    request.on("end", () => response.writeHead(204, { "x-prometheus-remote-write-samples-written": RECORDS }).end());
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", () => done(undefined)));
  const { port } = /** @type {net.AddressInfo} */ (server.address());
  const exporter = await component("exporter/prometheus_remote_write", {
    endpoint: `http://127.0.0.1:${port}/api/v1/write`,
    protobuf_message: "io.prometheus.write.v2.Request",
    target_info: { enabled: false },
  });
  await exporter.start?.();
  await exporter.send(Batch.admit("metrics", sums(RECORDS, 1)), new AbortController().signal);
  server.closeAllConnections();
  server.close();
  const { "content-type": type, "content-encoding": encoding } = headers;
  return { body: Buffer.concat(chunks), headers: { "content-type": type, "content-encoding": encoding } };
}

/** Sends the same request of a thousand records again and again. */
async function posting(
  /** @type {import("../cells.js").DrivenSide} */ { port },
  /** @type {string} */ path,
  /** @type {Buffer} */ body,
  headers = {},
) {
  return async () => {
    await post({ port, path, headers: { "content-length": body.length, ...headers } }, body);
    return RECORDS;
  };
}

const agent = new http.Agent({ keepAlive: true });

/** @param {http.RequestOptions} options @param {Buffer} body @returns {Promise<void>} */
function post(options, body) {
  return new Promise((resolve, reject) => {
    const request = http.request({ host: "127.0.0.1", agent, method: "POST", ...options }, (response) => {
      const { statusCode = 0 } = response;
      response.resume().on("error", reject);
      response.on("end", () => (statusCode < 300 ? resolve() : reject(new Error(`it answered ${statusCode}`))));
    });
    request.on("error", reject);
    request.end(body);
  });
}
