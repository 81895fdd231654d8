import { Agent } from "node:http";
import { deflateRawSync, deflateSync, gzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Refusal } from "../../../src/plugin.js";
import { COMPRESSIONS, compress } from "../../../src/runtime/codecs/compression/compress.js";
import { hasZstd } from "../../../src/runtime/codecs/compression/zstd.js";
import { decodeResponse } from "../../../src/runtime/net/otlp/response.js";
import { decodeStatus } from "../../../src/runtime/net/otlp/rpc-status.js";
import { SIGNALS } from "../../../src/runtime/otlp/signals/signal.js";
import { availableHere } from "../../support/telemetry/with-zstd.js";
import { JSON_HEADERS, PROTO, post, type Running, startReceiver } from "./harness.js";
import { json, wire } from "./requests.js";

describe("OTLP over HTTP", () => {
  let running: Running;
  const start = async (http: object = {}, signals = SIGNALS) => {
    running = await startReceiver({ http: { endpoint: "127.0.0.1:0", ...http } }, signals);
  };
  beforeEach(() => start());
  afterEach(() => running.receiver.stop());
  const restart = async (...how: Parameters<typeof start>) => {
    await running.receiver.stop();
    await start(...how);
  };

  it.each(SIGNALS)("takes %s in protobuf and JSON and answers in the same encoding", async (signal) => {
    const proto = await post(running.http, `/v1/${signal}`, wire(signal, 3));
    expect([proto.status, proto.headers["content-type"], proto.body.length]).toEqual([
      200,
      "application/x-protobuf",
      0,
    ]);
    const asJson = await post(running.http, `/v1/${signal}`, json(signal, 2), JSON_HEADERS);
    expect([asJson.status, asJson.headers["content-type"]]).toEqual([200, "application/json"]);
    expect(JSON.parse(asJson.body.toString())).toEqual({});
    const { batches } = running.intakes[signal];
    expect(batches.map((batch) => batch.count)).toEqual([3, 2]);
    expect(Buffer.from(batches[0]!.bytes)).toEqual(wire(signal, 3));
    expect(Buffer.from(batches[1]!.bytes)).toEqual(wire(signal, 2));
    expect(running.intakes[signal].reserved).toBe(0);
  });

  it("reads the content type in any case and with parameters", async () => {
    for (const type of ["Application/JSON; charset=utf-8", "application/json;charset=UTF-8"]) {
      expect((await post(running.http, "/v1/logs", json("logs"), { "content-type": type })).status).toBe(200);
    }
    const type = "APPLICATION/X-PROTOBUF; foo=bar";
    expect((await post(running.http, "/v1/logs", wire("logs"), { "content-type": type })).status).toBe(200);
  });

  it("accepts an empty request without bothering the pipeline", async () => {
    expect((await post(running.http, "/v1/logs", Buffer.alloc(0))).status).toBe(200);
    expect((await post(running.http, "/v1/logs", "{}", JSON_HEADERS)).status).toBe(200);
    expect(running.intakes.logs.batches).toEqual([]);
  });

  it("undoes every content encoding it knows", async () => {
    const body = wire("logs", 100);
    const packed = {
      gzip: gzipSync(body),
      "x-gzip": gzipSync(body),
      deflate: deflateSync(body),
      zlib: deflateSync(body),
    };
    for (const [name, bytes] of Object.entries(packed)) {
      const answer = await post(running.http, "/v1/logs", bytes, { ...PROTO, "content-encoding": name });
      expect([name, answer.status]).toEqual([name, 200]);
    }
    const bare = await post(running.http, "/v1/logs", deflateRawSync(body), {
      ...PROTO,
      "content-encoding": "deflate",
    });
    expect(bare.status).toBe(200);
    expect((await post(running.http, "/v1/logs", body, { ...PROTO, "content-encoding": "identity" })).status).toBe(200);
    expect(running.intakes.logs.batches.every((batch) => Buffer.from(batch.bytes).equals(body))).toBe(true);
    expect(running.intakes.logs.reserved).toBe(0);
  });

  it("unpacks gzip of several members", async () => {
    const body = Buffer.concat([gzipSync(wire("logs", 50)), gzipSync(wire("logs", 1))]);
    const answer = await post(running.http, "/v1/logs", body, { ...PROTO, "content-encoding": "gzip" });
    expect(answer.status).toBe(200);
    expect(running.intakes.logs.records).toBe(51);
  });

  it("answers 415 to an encoding it does not know, and says which it does", async () => {
    const answer = await post(running.http, "/v1/logs", wire("logs"), { ...PROTO, "content-encoding": "br" });
    expect(answer.status).toBe(415);
    expect(decodeStatus(answer.body, "proto").message).toMatch(/use .*gzip.*snappy.*lz4/);
  });

  it.skipIf(hasZstd)("answers 415 to zstd where Node.js lacks it, and says so", async () => {
    const answer = await post(running.http, "/v1/logs", wire("logs"), { ...PROTO, "content-encoding": "zstd" });
    expect(answer.status).toBe(415);
    expect(decodeStatus(answer.body, "proto").message).toMatch(/zstd needs Node\.js 22\.15 or newer/);
  });

  it.each(availableHere(COMPRESSIONS))("takes %s, and answers 400 when it is damaged", async (name) => {
    const headers = { ...PROTO, "content-encoding": name };
    const packed = await compress(name, wire("logs"));
    expect((await post(running.http, "/v1/logs", packed, headers)).status).toBe(200);
    expect(Buffer.from(running.intakes.logs.batches[0]!.bytes)).toEqual(wire("logs"));
    expect((await post(running.http, "/v1/logs", packed.subarray(0, packed.length - 1), headers)).status).toBe(400);
  });

  it("accepts only the configured compression algorithms", async () => {
    await restart({ compression_algorithms: ["gzip"] });
    const gzip = { ...PROTO, "content-encoding": "gzip" };
    expect((await post(running.http, "/v1/logs", gzipSync(wire("logs")), gzip)).status).toBe(200);
    expect((await post(running.http, "/v1/logs", wire("logs"))).status).toBe(415);
  });

  it("says what to do about a wrong path, method or type", async () => {
    const path = await post(running.http, "/v1/nothing", wire("logs"));
    expect([path.status, decodeStatus(path.body, "proto").message]).toEqual([
      404,
      "404 there is nothing at /v1/nothing; send OTLP to /v1/logs, /v1/traces, /v1/metrics",
    ]);
    const method = await post(running.http, "/v1/logs", "", {}, { method: "GET" });
    expect([method.status, method.headers.allow]).toEqual([405, "POST"]);
    const type = await post(running.http, "/v1/logs", "hi", { "content-type": "text/plain" });
    expect([type.status, type.headers["content-type"]]).toEqual([415, "text/plain; charset=utf-8"]);
    expect(type.body.toString()).toContain("application/x-protobuf or application/json");
    expect((await post(running.http, "/v1/logs?x=1", wire("logs"))).status).toBe(200);
  });

  it("answers 404 for a signal that no pipeline takes, and says how to add one", async () => {
    await restart({}, ["logs"]);
    const answer = await post(running.http, "/v1/traces", json("traces"), JSON_HEADERS);
    expect(answer.status).toBe(404);
    expect(decodeStatus(answer.body, "json").message).toContain("service.pipelines.traces.receivers");
  });

  it("takes requests at configured paths", async () => {
    await restart({ logs_url_path: "/in/logs" });
    expect((await post(running.http, "/in/logs", wire("logs"))).status).toBe(200);
    expect((await post(running.http, "/v1/logs", wire("logs"))).status).toBe(404);
  });

  it.each(["proto", "json"] as const)("tells a partial success in %s", async (encoding) => {
    running.intakes.traces.answer = () => ({ ok: true, rejected: 2, message: "no name" });
    const [body, headers] = encoding === "proto" ? [wire("traces", 3), PROTO] : [json("traces", 3), JSON_HEADERS];
    const answer = await post(running.http, "/v1/traces", body, headers);
    expect(answer.status).toBe(200);
    expect(decodeResponse("traces", encoding, answer.body)).toEqual({ rejected: 2, message: "no name" });
    expect(running.metrics.sums.get("otelcol_receiver_accepted_spans{otlp,http}")).toBe(1);
    expect(running.metrics.sums.get("otelcol_receiver_refused_spans{otlp,http}")).toBe(2);
  });

  it.each([
    [new Refusal("permanent", "no such tenant"), 400, undefined, 3],
    [new Refusal("transient", "the backend is down"), 503, "1", 14],
    [new Refusal("throttled", "slow down", { retryAfterMs: 2500 }), 429, "3", 14],
  ])("answers a refusal with its status and Retry-After (%s)", async (refusal, status, retryAfter, code) => {
    running.intakes.logs.answer = () => ({ ok: false, refusal });
    for (const encoding of ["proto", "json"] as const) {
      const [body, headers] = encoding === "proto" ? [wire("logs"), PROTO] : [json("logs"), JSON_HEADERS];
      const answer = await post(running.http, "/v1/logs", body, headers);
      expect([answer.status, answer.headers["retry-after"]]).toEqual([status, retryAfter]);
      expect(decodeStatus(answer.body, encoding)).toMatchObject({ code, message: refusal.message });
    }
    expect(running.metrics.sums.get("otelcol_receiver_refused_log_records{otlp,http}")).toBe(2);
  });

  it("keeps request headers only when told to", async () => {
    await post(running.http, "/v1/logs", wire("logs"), { ...PROTO, "X-Tenant": "blue" });
    expect(running.intakes.logs.origins[0]).toMatchObject({ receiver: "otlp", transport: "http" });
    await restart({ include_metadata: true });
    const pretended = { "Client.Address": "203.0.113.7", "X-Forwarded-For": "203.0.113.7" };
    await post(running.http, "/v1/logs", wire("logs"), { ...PROTO, "X-Tenant": "blue", ...pretended });
    expect(running.intakes.logs.origins[0]?.metadata?.get("x-tenant")).toEqual(["blue"]);
    expect(running.intakes.logs.origins[0]?.metadata?.get("client.address")).toEqual([
      expect.stringMatching(/^(127\.0\.0\.1|::1)$/),
    ]);
  });

  it("sends configured response headers", async () => {
    await restart({ response_headers: { "X-Frame-Options": "deny" } });
    expect((await post(running.http, "/v1/logs", wire("logs"))).headers["x-frame-options"]).toBe("deny");
    expect((await post(running.http, "/nowhere", wire("logs"))).headers["x-frame-options"]).toBe("deny");
  });

  it("keeps a connection for the next request, also after a refusal", async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    for (let i = 0; i < 3; i++) {
      expect((await post(running.http, "/v1/logs", wire("logs"), PROTO, { agent })).status).toBe(200);
      expect((await post(running.http, "/nowhere", wire("logs"), PROTO, { agent })).status).toBe(404);
      expect((await post(running.http, "/v1/logs", "junk", PROTO, { agent })).status).toBe(400);
    }
    expect(Object.values(agent.freeSockets).flat()).toHaveLength(1);
    agent.destroy();
  });

  describe("for browsers", () => {
    const preflight = (origin: string) =>
      post(
        running.http,
        "/v1/traces",
        "",
        { origin, "access-control-request-method": "POST", "access-control-request-headers": "x-key" },
        { method: "OPTIONS" },
      );

    it("answers a preflight of an allowed origin, wildcards included", async () => {
      const cors = { allowed_origins: ["https://*.example.com", "http://localhost:*"], allowed_headers: ["X-Key"] };
      await restart({ cors: { ...cors, max_age: 7200 } });
      for (const origin of ["https://shop.example.com", "http://localhost:3000"]) {
        const answer = await preflight(origin);
        expect(answer.status).toBe(204);
        expect(answer.headers["access-control-allow-origin"]).toBe(origin);
        expect(answer.headers["access-control-allow-headers"]).toContain("X-Key");
        expect(answer.headers["access-control-max-age"]).toBe("7200");
      }
      expect((await preflight("https://example.com.evil.net")).headers["access-control-allow-origin"]).toBeUndefined();
      const sent = await post(running.http, "/v1/traces", wire("traces"), { ...PROTO, origin: "http://localhost:1" });
      expect([sent.status, sent.headers["access-control-allow-origin"]]).toEqual([200, "http://localhost:1"]);
    });

    it("allows all requested headers with *", async () => {
      await restart({ cors: { allowed_origins: ["*"], allowed_headers: ["*"] } });
      expect((await preflight("http://anywhere")).headers["access-control-allow-headers"]).toBe("x-key");
    });

    it("takes no longer for an origin that almost matches many wildcards", async () => {
      await restart({ cors: { allowed_origins: ["http://*a*a*a*a*a*a*b"] } });
      const answer = await preflight(`http://${"a".repeat(12_000)}`);
      expect([answer.status, answer.headers["access-control-allow-origin"]]).toEqual([204, undefined]);
      expect((await preflight("http://aaaaaab")).headers["access-control-allow-origin"]).toBe("http://aaaaaab");
    });

    it("treats a preflight as a wrong method when no origin is allowed", async () => {
      expect((await preflight("http://anywhere")).status).toBe(405);
    });
  });
});
