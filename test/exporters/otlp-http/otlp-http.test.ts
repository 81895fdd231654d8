import { getEventListeners } from "node:events";
import { createServer as createSocketServer, type Server, type Socket } from "node:net";
import { gunzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { otlpHttpExporter } from "../../../src/exporters/otlp-http/component.js";
import { Batch, batchFromJson, type Exporter, Refusal } from "../../../src/plugin.js";
import { hasZstd } from "../../../src/runtime/codecs/compression/zstd.js";
import type { ClientAuthenticator } from "../../../src/runtime/contract/auth.js";
import { encodeResponse } from "../../../src/runtime/net/otlp/response.js";
import { encodeStatus } from "../../../src/runtime/net/otlp/rpc-status.js";
import { SIGNALS } from "../../../src/runtime/otlp/signals/signal.js";
import { until } from "../../receivers/otlp/harness.js";
import { wire } from "../../receivers/otlp/requests.js";
import { never, refusalOf, type Sink, startExporter, startSink } from "../harness.js";

const logs = (count = 3) => Batch.admit("logs", wire("logs", count));

describe("otlp_http exporter", () => {
  let sink: Sink;
  let exporter: Exporter;
  const start = async (config: object = {}) => {
    exporter = await startExporter(otlpHttpExporter, { endpoint: `http://127.0.0.1:${sink.port}`, ...config });
  };
  beforeEach(async () => {
    sink = await startSink();
    await start();
  });
  afterEach(async () => {
    await exporter.stop?.();
    await sink.close();
    expect(getEventListeners(never, "abort")).toEqual([]);
  });
  const restart = async (config: object) => {
    await exporter.stop?.();
    await start(config);
  };

  it.each(SIGNALS)("sends %s as gzipped protobuf to its path", async (signal) => {
    expect(await exporter.send(Batch.admit(signal, wire(signal, 3)), never)).toBeUndefined();
    const { path, headers, body } = sink.requests[0]!;
    expect([path, headers["content-type"], headers["content-encoding"]]).toEqual([
      `/v1/${signal}`,
      "application/x-protobuf",
      "gzip",
    ]);
    expect(gunzipSync(body)).toEqual(wire(signal, 3));
  });

  it("writes the pieces of a batch without compression, with their length", async () => {
    await restart({ compression: "none" });
    const batch = Batch.merge([logs(2), logs(3)]);
    await exporter.send(batch, never);
    expect(sink.requests[0]!.body).toEqual(Buffer.concat([wire("logs", 2), wire("logs", 3)]));
    expect(sink.requests[0]!.headers["content-length"]).toBe(String(batch.byteLength));
  });

  it("compresses large batches too", async () => {
    await exporter.send(logs(20_000), never);
    expect(gunzipSync(sink.requests[0]!.body).equals(wire("logs", 20_000))).toBe(true);
  });

  it("sends JSON", async () => {
    await restart({ encoding: "json", compression: "none" });
    await exporter.send(logs(2), never);
    expect(sink.requests[0]!.headers["content-type"]).toBe("application/json");
    expect(Buffer.from(batchFromJson("logs", sink.requests[0]!.body).bytes)).toEqual(wire("logs", 2));
  });

  it("adds the signal's path to the endpoint's own, and nothing to a signal's endpoint", async () => {
    const base = `http://127.0.0.1:${sink.port}`;
    await restart({ endpoint: `${base}/otlp/`, traces_endpoint: `${base}/in?key=1`, headers: { "X-Key": "k" } });
    await exporter.send(logs(), never);
    await exporter.send(Batch.admit("traces", wire("traces")), never);
    expect(sink.requests.map((request) => request.path)).toEqual(["/otlp/v1/logs", "/in?key=1"]);
    expect(sink.requests[0]!.headers["x-key"]).toBe("k");
  });

  it("sends the credentials of the URL, unless a header does, and no second length", async () => {
    const endpoint = `http://us%40er:p%3Aw@127.0.0.1:${sink.port}`;
    await restart({ endpoint, headers: { "content-length": "3", "User-Agent": "mine" } });
    await exporter.send(logs(), never);
    await restart({ endpoint, headers: { authorization: "Bearer x" } });
    await exporter.send(logs(), never);
    const [first, second] = sink.requests.map(({ headers }) => headers);
    expect(first).toMatchObject({
      host: `127.0.0.1:${sink.port}`,
      authorization: `Basic ${btoa("us@er:p:w")}`,
      "user-agent": "mine",
    });
    expect(second!.authorization).toBe("Bearer x");
  });

  it("sends a password without a user, too", async () => {
    await restart({ endpoint: `http://:token@127.0.0.1:${sink.port}` });
    await exporter.send(logs(), never);
    expect(sink.requests[0]!.headers.authorization).toBe(`Basic ${btoa(":token")}`);
  });

  it("refuses invalid credentials, and does not reveal them", () => {
    const { error } = otlpHttpExporter.schema.safeParse({ endpoint: "http://user:100%secret@127.0.0.1" });
    expect(error?.issues[0]?.message).toMatch(/%25/);
    expect(String(error)).not.toContain("secret");
  });

  it("does not mistake another port for the unreachable one", async () => {
    await restart({ endpoint: "http://127.0.0.1:0" });
    const { message } = await refusalOf(exporter.send(logs(), never));
    expect(message).toContain("127.0.0.1:0");
    expect(message).not.toContain(":80");
  });

  it("closes connections that the server wants closed", async () => {
    await restart({ disable_keep_alives: true });
    await exporter.send(logs(), never);
    expect(sink.requests[0]!.headers.connection).toBe("close");
    await until(() => sink.sockets.size === 0);
  });

  it.each(["proto", "json"] as const)(
    "is checked with a request in %s that has no records, by whatever is answered",
    async (encoding) => {
      await restart({ encoding, compression: "gzip" });
      await exporter.check!(never);
      const sent = gunzipSync(sink.requests[0]!.body);
      expect((encoding === "json" ? batchFromJson("logs", sent) : Batch.admit("logs", sent)).count).toBe(0);
      sink.respond = (response) => response.writeHead(404).end();
      await exporter.check!(never);
      sink.respond = (response) => response.writeHead(503).end();
      expect(await refusalOf(exporter.check!(never))).toMatchObject({ kind: "transient" });
      await restart({ endpoint: "http://127.0.0.1:0" });
      expect(await refusalOf(exporter.check!(never))).toMatchObject({ kind: "transient" });
    },
  );

  it("refuses a signal for which it has no endpoint", async () => {
    await restart({ endpoint: undefined, traces_endpoint: `http://127.0.0.1:${sink.port}/in` });
    expect(await refusalOf(exporter.send(logs(), never))).toMatchObject({ kind: "permanent", category: "integration" });
  });

  it.each(["proto", "json"] as const)("reports a partial success in %s", async (encoding) => {
    await restart({ encoding });
    sink.respond = (response) => {
      response.setHeader("content-type", encoding === "proto" ? "application/x-protobuf" : "application/json");
      response.end(encodeResponse("logs", encoding, { rejected: 2, message: "too old" }));
    };
    expect(await exporter.send(logs(), never)).toEqual({ rejected: 2, message: "too old" });
  });

  it.each(["proto", "json"] as const)("reads a partial success in %s to its end, however long", async (encoding) => {
    const message = "x".repeat(1_000_000);
    const type = encoding === "proto" ? "application/x-protobuf" : "application/json";
    sink.respond = (response) =>
      response.setHeader("content-type", type).end(encodeResponse("logs", encoding, { rejected: 2, message }));
    expect(await exporter.send(logs(), never)).toEqual({ rejected: 2, message });
  });

  it("understands a partial success also when it says that it is something else", async () => {
    const body = encodeResponse("logs", "proto", { rejected: 2, message: "too old" });
    for (const type of ["application/octet-stream", "text/plain; charset=utf-8"]) {
      sink.respond = (response) => response.setHeader("content-type", type).end(body);
      expect(await exporter.send(logs(), never)).toEqual({ rejected: 2, message: "too old" });
    }
  });

  it("accepts a success whose body does not claim to be OTLP's answer", async () => {
    for (const body of [Buffer.alloc(100, 0xff), Buffer.from("<ok/>"), Buffer.from("ok")]) {
      sink.respond = (response) => response.setHeader("content-type", "text/html").end(body);
      expect(await exporter.send(logs(), never)).toBeUndefined();
      sink.respond = (response) => response.end(body);
      expect(await exporter.send(logs(), never)).toBeUndefined();
    }
  });

  const whole = encodeResponse("logs", "proto", { rejected: 2, message: "too old" });
  it.each([
    ["is longer than is read", "application/x-protobuf", Buffer.alloc(5_000_000, 0x0a)],
    ["is cut in its message", "application/x-protobuf", whole.subarray(0, -1)],
    ["is no protobuf", "application/x-protobuf", Buffer.from("<html>")],
    ["is no JSON", "application/json", Buffer.from('{"partialSuccess":{"rejectedLogRecords":"2"')],
    ["is JSON of something else", "application/json", Buffer.from("[]")],
    ["is a web page", "text/html; charset=utf-8", Buffer.from("\n<!DOCTYPE html>\n<title>Sign in</title>")],
    ["is a web page that does not say so", "text/plain", Buffer.from("<html lang=en>")],
    ["counts in words", "application/json", Buffer.from('{"partialSuccess":{"rejectedLogRecords":"two"}}')],
  ])("treats a success whose body %s as doubtful, and sends again", async (_, type, body) => {
    sink.respond = (response) => response.setHeader("content-type", type).end(body);
    expect(await refusalOf(exporter.send(logs(), never))).toMatchObject({
      kind: "transient",
      code: "SLUICE_UNREADABLE_ANSWER",
    });
  });

  it.each([
    [429, {}, "transient", undefined],
    [429, { "retry-after": "7" }, "throttled", 7000],
    [503, { "retry-after": "0" }, "throttled", 0],
    [503, { "retry-after": "soon" }, "transient", undefined],
    [500, {}, "transient", undefined],
    [502, {}, "transient", undefined],
    [504, {}, "transient", undefined],
    [507, {}, "transient", undefined],
    [408, {}, "transient", undefined],
    [400, { "retry-after": "7" }, "permanent", undefined],
    [401, {}, "permanent", undefined],
    [404, {}, "permanent", undefined],
    [302, { location: "/login" }, "permanent", undefined],
    [301, { location: "http://other.example/v1/logs" }, "permanent", undefined],
    [307, {}, "permanent", undefined],
    [308, { location: "ftp://other.example/v1/logs" }, "permanent", undefined],
    [405, {}, "permanent", undefined],
    [415, {}, "permanent", undefined],
  ])("treats HTTP %i with %o as %s", async (status, headers, kind, retryAfterMs) => {
    sink.respond = (response) => response.writeHead(status, headers as Record<string, string>).end("because");
    const refusal = await refusalOf(exporter.send(logs(), never));
    expect(refusal).toMatchObject({ kind, status: `HTTP ${status}`, message: `HTTP ${status}: because` });
    expect(refusal.retryAfterMs).toBe(retryAfterMs);
    expect(sink.requests).toHaveLength(1);
  });

  it.each([
    [301, "/v1/logs/"],
    [302, "http://127.0.0.1:PORT/v1/logs/"],
    [307, "/moved?to=b"],
    [308, "/moved"],
  ])("follows a redirect %i to %s on its host, with data, headers and credentials", async (status, location) => {
    const client: ClientAuthenticator = { isConfidential: true, authorize: () => ({ authorization: "Bearer secret" }) };
    const config = {
      endpoint: `http://127.0.0.1:${sink.port}`,
      headers: { "api-key": "k" },
      auth: { authenticator: "a" },
    };
    await exporter.stop?.();
    exporter = await startExporter(otlpHttpExporter, config, client);
    const to = location.replace("PORT", String(sink.port));
    sink.respond = (response, { url }) =>
      url === "/v1/logs" ? response.writeHead(status, { location: to }).end() : response.end();
    await exporter.send(logs(), never);
    const [first, second] = sink.requests;
    expect(new URL(second!.path, "http://h").href).toBe(new URL(to.replace(/^http:..[^/]*/, ""), "http://h").href);
    expect(second!.headers).toEqual(first!.headers);
    expect(second!.headers).toMatchObject({ "api-key": "k", authorization: "Bearer secret" });
    expect(second!.body).toEqual(first!.body);
  });

  it("follows a redirect to another server without configured headers and credentials", async () => {
    const other = await startSink();
    const client: ClientAuthenticator = { isConfidential: true, authorize: () => ({ authorization: "Bearer secret" }) };
    const endpoint = `http://user:word@127.0.0.1:${sink.port}`;
    await exporter.stop?.();
    exporter = await startExporter(
      otlpHttpExporter,
      { endpoint, headers: { "api-key": "k" }, auth: { authenticator: "a" } },
      client,
    );
    sink.respond = (response) =>
      response.writeHead(307, { location: `http://x:y@127.0.0.1:${other.port}/v1/logs` }).end();
    // Not even when it sends the request back does the first server get credentials: they were left out on the way.
    other.respond = (response) => response.writeHead(308, { location: `http://127.0.0.1:${sink.port}/back` }).end();
    expect(await refusalOf(exporter.send(logs(), never))).toMatchObject({
      status: expect.stringMatching("HTTP 30[78]"),
    });
    expect(other.requests).toHaveLength(5);
    expect(other.requests[0]!.body).toEqual(sink.requests[0]!.body);
    for (const { headers } of [...other.requests, ...sink.requests.slice(1)]) {
      expect(headers).not.toHaveProperty("authorization");
      expect(headers).not.toHaveProperty("api-key");
      expect(headers["sluice-idempotency-key"]).toBe(sink.requests[0]!.headers["sluice-idempotency-key"]);
    }
    await other.close();
  });

  it("ends after ten redirects", async () => {
    sink.respond = (response, { url }) => response.writeHead(307, { location: `${url}x` }).end();
    expect(await refusalOf(exporter.send(logs(), never))).toMatchObject({ kind: "permanent", status: "HTTP 307" });
    expect(sink.requests).toHaveLength(11);
  });

  it("understands Retry-After as a date", async () => {
    const date = new Date(Date.now() + 60_000).toUTCString();
    sink.respond = (response) => response.writeHead(503, { "retry-after": date }).end();
    const { kind, retryAfterMs } = await refusalOf(exporter.send(logs(), never));
    expect(kind).toBe("throttled");
    expect(retryAfterMs).toBeGreaterThan(50_000);
  });

  it('gives "too large" a code of its own, and bad data its category', async () => {
    sink.respond = (response) => response.writeHead(413).end();
    expect(await refusalOf(exporter.send(logs(), never))).toMatchObject({
      kind: "permanent",
      code: "SLUICE_TOO_LARGE",
    });
    sink.respond = (response) =>
      response
        .writeHead(400, { "content-type": "application/x-protobuf" })
        .end(encodeStatus({ code: 3, message: "no such field" }, "proto"));
    const refusal = await refusalOf(exporter.send(logs(), never));
    expect([refusal.category, refusal.message]).toEqual(["schema", "HTTP 400: no such field"]);
  });

  it("uses connections again, and no more than allowed", async () => {
    await restart({ max_conns_per_host: 2 });
    await Promise.all(Array.from({ length: 20 }, () => exporter.send(logs(), never)));
    expect(sink.requests).toHaveLength(20);
    expect(sink.sockets.size).toBeLessThanOrEqual(2);
  });

  it("sends again on a new connection when a kept one turns out to be closed", async () => {
    await exporter.send(logs(), never);
    const [stale] = [...sink.sockets];
    sink.respond = (response, request) => {
      if (request.socket === stale) request.socket.resetAndDestroy();
      else response.end();
    };
    await exporter.send(logs(), never);
    expect(sink.requests).toHaveLength(3);
    // The server may have received the first of the two; their key tells it that they are the same.
    const keys = sink.requests.map(({ headers }) => headers["sluice-idempotency-key"]);
    expect(keys[1]).toBe(keys[2]);
    expect(new Set(keys).size).toBe(2);
    expect(keys).not.toContain(undefined);
  });

  it("tries a reset connection only once more", async () => {
    await exporter.send(logs(), never);
    sink.respond = (_, request) => void request.socket.resetAndDestroy();
    expect(await refusalOf(exporter.send(logs(), never))).toMatchObject({ kind: "transient", status: "ECONNRESET" });
    expect(sink.requests).toHaveLength(3);
    sink.respond = (response) => response.end();
    await exporter.send(logs(), never);
  });

  it("treats an endpoint that refuses, or does not exist, as transient", async () => {
    const gone = await startSink();
    await gone.close();
    for (const [host, code] of [
      [`127.0.0.1:${gone.port}`, "ECONNREFUSED"],
      ["no-such-host.invalid:1", /ENOTFOUND|EAI_AGAIN/],
    ] as const) {
      await restart({ endpoint: `http://${host}` });
      const refusal = await refusalOf(exporter.send(logs(), never));
      expect(refusal.kind).toBe("transient");
      expect(refusal.status).toMatch(code);
      expect(refusal.message).toContain(host);
    }
  });

  describe("when given up", () => {
    it("ends a request that hangs and leaves nothing open", async () => {
      sink.respond = () => {};
      const abort = new AbortController();
      const sending = refusalOf(exporter.send(logs(), abort.signal));
      await until(() => sink.requests.length === 1);
      abort.abort();
      expect(await sending).toMatchObject({ kind: "transient", code: "SLUICE_ABORTED" });
      await until(() => sink.sockets.size === 0);
    });

    it("sends nothing when that happened before", async () => {
      expect(await refusalOf(exporter.send(logs(), AbortSignal.abort()))).toMatchObject({ kind: "transient" });
      expect(sink.requests).toEqual([]);
    });

    it("keeps the refusal it was aborted with", async () => {
      const reason = new Refusal("transient", "took longer than 5s", { code: "SLUICE_TIMEOUT" });
      expect(await refusalOf(exporter.send(logs(), AbortSignal.abort(reason)))).toBe(reason);
    });

    it("treats a success whose body drips as doubtful", async () => {
      const headSeen = new Promise<void>((resolve) => {
        const head = { "content-type": "application/x-protobuf" };
        sink.respond = (response) => response.writeHead(200, head).write("\n", () => resolve());
      });
      const abort = new AbortController();
      const sending = exporter.send(logs(), abort.signal);
      await headSeen;
      // The exporter reads what the sink has written in one of the next turns of the same event loop.
      for (let turn = 0; turn < 100; turn++) await new Promise((resolve) => setImmediate(resolve));
      abort.abort();
      expect(await refusalOf(sending)).toMatchObject({ kind: "transient", code: "SLUICE_UNREADABLE_ANSWER" });
    });
  });

  describe("against broken servers", () => {
    let server: Server;
    const open = new Set<Socket>();
    const serve = async (talk: (socket: Socket) => void) => {
      server = createSocketServer((socket) => {
        open.add(socket);
        socket.on("error", () => {}).on("close", () => open.delete(socket));
        talk(socket);
      });
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      await restart({ endpoint: `http://127.0.0.1:${(server.address() as { port: number }).port}` });
    };
    afterEach(() => {
      for (const socket of open) socket.destroy();
      server.close();
    });

    it.each([
      ["closes at once", (socket: Socket) => void socket.destroy()],
      ["resets after the head", (socket: Socket) => void socket.once("data", () => socket.resetAndDestroy())],
      ["speaks no HTTP", (socket: Socket) => void socket.once("data", () => socket.end("220 smtp ready\r\n"))],
      ["cuts the head", (socket: Socket) => void socket.once("data", () => socket.end("HTTP/1.1 200 OK\r\nContent-"))],
      ["upgrades", (socket: Socket) => void socket.once("data", () => socket.end(UPGRADE))],
    ])("is refused transiently by one that %s", async (_, talk) => {
      await serve(talk);
      expect(await refusalOf(exporter.send(logs(), never))).toMatchObject({ kind: "transient" });
    });

    it("treats a 200 with a truncated body as doubtful", async () => {
      const head = "HTTP/1.1 200 OK\r\nContent-Type: application/x-protobuf\r\nContent-Length: 100\r\n\r\n";
      await serve((socket) => void socket.once("data", () => socket.end(`${head}half`)));
      expect(await refusalOf(exporter.send(logs(), never))).toMatchObject({ code: "SLUICE_UNREADABLE_ANSWER" });
    });

    it("treats a refusal with a truncated body as that refusal, with the received text", async () => {
      const head = "HTTP/1.1 400 Bad\r\nContent-Type: text/plain\r\nContent-Length: 100\r\n\r\n";
      await serve((socket) => void socket.once("data", () => socket.end(`${head}half`)));
      expect(await refusalOf(exporter.send(logs(), never))).toMatchObject({ message: "HTTP 400: half" });
    });
  });
});

const UPGRADE = "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n";

describe("otlp_http config", () => {
  const problems = (config: object) =>
    otlpHttpExporter.schema.safeParse(config).error?.issues.map((issue) => `${issue.path.join(".")}: ${issue.message}`);

  it("says what is missing or not supported", () => {
    expect(problems({})).toEqual([": expected an endpoint such as `endpoint: http://localhost:4318`"]);
    expect(problems({ endpoint: "localhost:4318" })).toEqual([
      "endpoint: expected a URL such as http://localhost:4318",
    ]);
    const endpoint = "http://x";
    expect(problems({ endpoint, auth: { authenticator: "" } })?.[0]).toMatch(/^auth.authenticator: .*id/);
    expect(problems({ endpoint, compression: "br" })?.[0]).toMatch(/^compression: /);
    const older = [expect.stringMatching(/^compression: zstd needs Node\.js 22\.15 or newer, .*; use gzip$/)];
    expect(problems({ endpoint, compression: "zstd" })).toEqual(hasZstd ? undefined : older);
    for (const [compression, level] of [["gzip", 10], ...(hasZstd ? [["zstd", 0] as const] : []), ["lz4", 3]]) {
      const [problem] = problems({ endpoint, compression, compression_params: { level } })!;
      expect(problem).toMatch(/^compression_params\.level: expected /);
    }
    expect(problems({ endpoint, proxy_url: "socks5://p" })?.[0]).toMatch(/^proxy_url: /);
    for (const headers of [{ key: "secret\r\nX: y" }, { key: "secret\n" }, { "a b": "secret" }]) {
      const [problem] = problems({ endpoint, headers })!;
      expect(problem).toMatch(/^headers\.(key|a b): expected a header that can be sent/);
      expect(problem).not.toContain("secret");
    }
  });

  it("accepts common spellings", () => {
    for (const config of [
      { endpoint: "http://loki:3100/otlp", tls: { insecure: true }, compression: "" },
      { endpoint: "https://x", headers: null, encoding: "JSON", auth: null },
      { logs_endpoint: "http://x/y", tls: null, read_buffer_size: 123 },
      { endpoint: "https://x", tls: { min_version: 1.3, insecure_skip_verify: true } },
    ]) {
      expect(problems(config)).toBeUndefined();
    }
  });
});
