import { createServer } from "node:net";
import { Metadata } from "@grpc/grpc-js";
import { expect, onTestFinished } from "vitest";
import { freePort } from "../../src/agent/testing/free-port.js";
import { Batch } from "../../src/plugin.js";
import { encodeStatus } from "../../src/runtime/net/otlp/rpc-status.js";
import { GrpcJsServer } from "../exporters/grpc-server.js";
import { bodies } from "../support/telemetry/batches.js";
import { row } from "./row.js";
import { type Json, type RunningAgent, startAgent } from "./support/agent.js";
import { type Behaviour, startBackend } from "./support/backend.js";
import { otlpHttp } from "./support/exporter.js";

/** The dead letters by the name of their exporter behind the slash. */
async function lettersByExporter(agent: RunningAgent): Promise<Map<string, Json>> {
  return new Map((await agent.deadLetters()).map((letter) => [letter.exporter.split("/")[1], letter]));
}

row(
  "C1",
  "calls an error transient, throttled, or permanent by schema, business or integration, and retries what it does not know",
  "transient / throttled / permanent{schema, business, integration} [foodies, adr54, skill]; unknown = transient.",
  async () => {
    const answers: Record<string, Behaviour> = {
      transient: 503,
      throttled: { status: 503, headers: { "retry-after": "0" } },
      schema: 400,
      business: 409,
      integration: 404,
    };
    const backend = await startBackend();
    backend.behave(({ path }) => answers[path.split("/")[1]!]!);
    const garbage = createServer((socket) => socket.on("error", () => {}).end("this is no HTTP\r\n\r\n"));
    await new Promise<void>((resolve) => garbage.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void garbage.close());
    const keys = {
      retry_on_failure: { max_elapsed_time: "50ms" },
      dead_letter: { category_on: { business: [409] } },
    };
    const { port } = garbage.address() as { port: number };
    const agent = await startAgent({
      exporters: {
        ...Object.fromEntries(
          Object.keys(answers).map((kind) => [`otlp_http/${kind}`, otlpHttp({ url: `${backend.url}/${kind}` }, keys)]),
        ),
        "otlp_http/unknown": otlpHttp({ url: `http://127.0.0.1:${port}` }, keys),
      },
    });
    await agent.send(["a"]);
    await expect.poll(() => agent.deadLetters()).toHaveLength(6);
    const letters = await lettersByExporter(agent);
    for (const kind of ["transient", "throttled"]) expect(letters.get(kind).lastError.kind).toBe(kind);
    expect(letters.get("unknown")).toMatchObject({ lastError: { kind: "transient" } });
    expect(letters.get("unknown").calls).toBeGreaterThan(1);
    for (const category of ["schema", "business", "integration"]) {
      expect(letters.get(category)).toMatchObject({
        calls: 1,
        lastError: { kind: "permanent" },
        failure: { reason: "permanent", category },
      });
    }
  },
);

row(
  "C2",
  "retries and gives up by HTTP's statuses, by the failures of connections, by OTLP's table for gRPC, and by the config",
  [
    "HTTP: 429, 502, 503, 504, other 5xx, disconnects, timeouts, DNS and socket errors transient (429/503 throttled when they carry Retry-After); other 4xx permanent. gRPC by the OTLP table.",
    "config can add rules (retry_on, permanent_on).",
  ],
  async () => {
    await retriesByStatus();
    await retriesConnections();
    await retriesByGrpcTable();
  },
);

const TRANSIENT = [429, 500, 502, 503, 504, 505, 599];
const PERMANENT = [400, 404, 405, 409, 410, 413, 415, 418, 422];

/** Each status comes once for a record of its own, then the backend takes it. */
async function retriesByStatus(): Promise<void> {
  const statuses = [...TRANSIENT, ...PERMANENT, 451, 501];
  const backend = await startBackend();
  backend.behave(({ bodies: [body] }) => {
    const isFirst = backend.calls.filter((call) => call.bodies[0] === body).length === 1;
    return isFirst ? Number(body) : "ok";
  });
  const retry_on_failure = { retry_on: [451], permanent_on: [501] };
  const agent = await startAgent({ exporters: { otlp_http: otlpHttp(backend, { retry_on_failure }) } });
  for (const status of statuses) expect((await agent.send([`${status}`])).status).toBe(200);
  await expect.poll(() => agent.deadLetters()).toHaveLength(PERMANENT.length + 1);
  await expect.poll(() => backend.bodies.map(Number).sort()).toEqual([...TRANSIENT, 451].sort());
  const classes = (await agent.deadLetters()).map(({ lastError, calls }) => [lastError.class, calls]);
  expect(classes.sort()).toEqual([...PERMANENT, 501].sort().map((status) => [`HTTP ${status}`, 1]));

  const throttling = await startBackend();
  throttling.behave(({ path }) => ({ status: Number(path.split("/")[1]), headers: { "retry-after": "0" } }));
  const once = { retry_on_failure: { enabled: false } };
  const asked = await startAgent({
    exporters: {
      "otlp_http/429": otlpHttp({ url: `${throttling.url}/429` }, once),
      "otlp_http/503": otlpHttp({ url: `${throttling.url}/503` }, once),
    },
  });
  await asked.send(["a"]);
  await expect.poll(() => asked.deadLetters()).toHaveLength(2);
  for (const { lastError } of await asked.deadLetters()) expect(lastError.kind).toBe("throttled");
}

async function retriesConnections(): Promise<void> {
  const backend = await startBackend();
  backend.behave(({ path }) => (path.startsWith("/reset") ? "reset" : "hang"));
  const keys = { retry_on_failure: { max_elapsed_time: "300ms" }, timeout: "100ms" };
  const agent = await startAgent({
    exporters: {
      "otlp_http/reset": otlpHttp({ url: `${backend.url}/reset` }, keys),
      "otlp_http/timeout": otlpHttp({ url: `${backend.url}/hang` }, keys),
      "otlp_http/dns": otlpHttp({ url: "http://nowhere.invalid" }, { ...keys, timeout: "10s" }),
      "otlp_http/refused": otlpHttp({ url: `http://127.0.0.1:${await freePort()}` }, keys),
    },
  });
  await agent.send(["a"]);
  await expect.poll(() => agent.deadLetters()).toHaveLength(4);
  for (const { exporter, lastError, calls } of await agent.deadLetters()) {
    expect(lastError.kind, exporter).toBe("transient");
    expect(calls, exporter).toBeGreaterThan(1);
  }
}

/** CANCELLED, DEADLINE_EXCEEDED, ABORTED, OUT_OF_RANGE, UNAVAILABLE, DATA_LOSS; RESOURCE_EXHAUSTED only with RetryInfo. */
const GRPC_RETRYABLE = [1, 4, 10, 11, 14, 15];

async function retriesByGrpcTable(): Promise<void> {
  const server = await new GrpcJsServer().start();
  onTestFinished(() => server.kill());
  const seen: string[] = [];
  server.respond = (done, { request }) => {
    const [body] = bodies(Batch.admit("logs", request));
    seen.push(body!);
    if (seen.filter((each) => each === body).length > 1) return done(null, Buffer.alloc(0));
    const code = Number.parseInt(body!, 10);
    const metadata = new Metadata();
    if (body!.endsWith("RetryInfo"))
      metadata.set("grpc-status-details-bin", encodeStatus({ code, message: "", retryAfterMs: 10 }, "proto"));
    done({ code, details: "refused", metadata });
  };
  const agent = await startAgent({
    exporters: {
      otlp_grpc: {
        endpoint: `127.0.0.1:${server.port}`,
        tls: { insecure: true },
        compression: "none",
        sending_queue: { merge_backlog: false },
        circuit_breaker: { enabled: false },
        // UNIMPLEMENTED and the like would wait in the queue until another entry is taken.
        retry_on_failure: { initial_interval: "10ms", jitter: "none", hold_on: [] },
      },
    },
  });
  const codes = Array.from({ length: 16 }, (_, i) => i + 1);
  for (const body of [...codes.map(String), "8 RetryInfo"]) expect((await agent.send([body])).status).toBe(200);
  await expect.poll(() => agent.deadLetters()).toHaveLength(16 - GRPC_RETRYABLE.length);
  const calls = (body: string) => seen.filter((each) => each === body).length;
  for (const code of codes) {
    await expect.poll(() => calls(`${code}`), { message: `code ${code}` }).toBe(GRPC_RETRYABLE.includes(code) ? 2 : 1);
  }
  await expect.poll(() => calls("8 RetryInfo")).toBe(2);
}

row(
  "C3",
  "calls once for a permanent error, apart from bisection, and never opens the breaker because of it",
  "A permanent error gets exactly one call (bisection aside) and never counts against the breaker.",
  async () => {
    const backend = await startBackend();
    backend.behave(({ bodies: texts }) => (texts.some((text) => text.startsWith("bad")) ? 422 : "ok"));
    const circuit_breaker = { failure_threshold: 1, reset_timeout: "1h" };
    const agent = await startAgent({ exporters: { otlp_http: otlpHttp(backend, { circuit_breaker }) } });
    const bad = Array.from({ length: 10 }, (_, i) => `bad ${i}`);
    for (const body of bad) await agent.send([body]);
    await expect.poll(() => agent.deadLetters()).toHaveLength(10);
    expect(backend.calls.map(({ bodies: [body] }) => body).sort()).toEqual(bad);

    await agent.send(["good 1", "good 2", "bad in a batch", "good 3"]);
    await expect.poll(() => [...backend.bodies].sort()).toEqual(["good 1", "good 2", "good 3"]);
    await expect.poll(() => agent.deadLetters()).toHaveLength(11);
    expect((await agent.get("/exporters/otlp_http")).breaker.state).toBe("closed");
    expect((await agent.metrics()).value("sluice_breaker_opened_total")).toBe(0);
  },
);
