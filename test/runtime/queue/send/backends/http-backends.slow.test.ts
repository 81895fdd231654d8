import type { IncomingMessage, ServerResponse } from "node:http";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type OtlpSink, startSink } from "../../../../support/otlp-sink.js";
import { bodies } from "../../../../support/telemetry/batches.js";
import { cleanUp, startWrapped, type WrappedAgent } from "../../agent.js";

let sink: OtlpSink;
beforeEach(async () => {
  sink = await startSink();
});
afterEach(async () => {
  await cleanUp();
  await sink.close();
});

/** Patient: other tests may keep the machine busy. */
function eventually<T>(read: () => T) {
  return expect.poll(read);
}

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

/** Retries and probes come at once, so that nothing here waits for them. */
const QUICK = "retry_on_failure: {initial_interval: 1ms, max_interval: 10ms}";

function exporter(more = ""): string {
  return `
  otlp_http:
    endpoint: ${sink.url}
    compression: none
    ${QUICK}
    circuit_breaker: {reset_timeout: 10ms}
    ${more}`;
}

const status =
  (code: number, headers: Record<string, string> = {}): Answer =>
  (_request, response) =>
    response.writeHead(code, headers).end("no");

function deadLetters({ agent }: WrappedAgent) {
  return agent.admin!.listDeadLetters({}).then(({ entries }) => entries);
}

const taken = () => sink.batches.flatMap(bodies).sort();

describe("a backend that misbehaves for a while", () => {
  it.each<[string, Answer]>([
    ["answers 429 without Retry-After", status(429)],
    ["answers 429 with Retry-After", status(429, { "retry-after": "0" })],
    ["answers 500", status(500)],
    ["answers 502", status(502)],
    ["answers 503 with Retry-After", status(503, { "retry-after": "0" })],
    ["answers 504", status(504)],
    ["resets the connection", (request) => request.socket.resetAndDestroy()],
    ["closes it without an answer", (request) => request.socket.destroy()],
    [
      "breaks off in the middle of its answer's head",
      (request) => request.socket.write("HTTP/1.1 200 OK\r\nContent-", () => request.socket.destroy()),
    ],
    ["answers garbage instead of HTTP", (request) => request.socket.end("\u0000\u0001what?\r\n\r\n")],
  ])("gets everything in the end: %s", async (_name, answer) => {
    sink.respond(answer);
    const wrapped = await startWrapped(exporter());
    expect(await wrapped.send("a", "b")).toMatchObject({ ok: true });
    await eventually(() => sink.requests.length).toBeGreaterThan(1);
    sink.respond(undefined);
    await eventually(taken).toEqual(["a", "b"]);
    expect(await deadLetters(wrapped)).toEqual([]);
    await eventually(() => wrapped.agent.admin!.exporters()[0]?.queue.entries).toBe(0);
  });

  it("gets the data again after the timeout when it hangs or answers too slowly", async () => {
    const answers: Answer[] = [
      () => {},
      (_request, response) => {
        response.writeHead(503, { "content-length": "10" }).flushHeaders();
        response.write("x");
      },
    ];
    sink.respond((request, response) => answers[sink.requests.length % 2]!(request, response));
    const wrapped = await startWrapped(exporter("timeout: 500ms"));
    expect(await wrapped.send("a")).toMatchObject({ ok: true });
    await eventually(() => sink.requests.length).toBeGreaterThan(0);
    sink.respond(undefined);
    await eventually(taken).toEqual(["a"]);
  });

  it("and closes idle connections gets every request once", async () => {
    const wrapped = await startWrapped(exporter());
    for (const body of ["a", "b", "c"]) {
      await wrapped.send(body);
      await eventually(() => sink.count).toBe(body.charCodeAt(0) - 96);
      for (const request of sink.requests) request.socket.destroy();
    }
    expect(taken()).toEqual(["a", "b", "c"]);
  });
});

describe("a backend that refuses for good", () => {
  it.each([
    [400, "schema"],
    [409, "integration"],
    [413, "schema"],
    [422, "schema"],
  ])("with %i is asked once, and the record is kept as a dead letter", async (code, category) => {
    sink.respond(status(code));
    const wrapped = await startWrapped(exporter());
    expect(await wrapped.send("a")).toMatchObject({ ok: true });
    await eventually(() => deadLetters(wrapped)).toHaveLength(1);
    expect(await deadLetters(wrapped)).toMatchObject([
      {
        exporter: "otlp_http",
        pipeline: "logs",
        source: { receiver: "hand" },
        attempts: 1,
        calls: 1,
        failure: { reason: "permanent", category, error: { class: `HTTP ${code}`, message: `HTTP ${code}: no` } },
      },
    ]);
    expect(sink.requests).toHaveLength(1);
    expect(wrapped.agent.admin!.exporters()[0]?.breaker.state).toBe("closed");
  });

  it("everything with 401 gets it when the token is good again, and its exporter is DOWN meanwhile", async () => {
    sink.respond(status(401));
    const wrapped = await startWrapped(exporter());
    expect(await wrapped.send("a")).toMatchObject({ ok: true });
    const exporterStatus = () => wrapped.agent.admin!.exporters()[0];
    await eventually(exporterStatus).toMatchObject({ state: "DOWN", refused: { class: "HTTP 401" } });
    expect(await deadLetters(wrapped)).toEqual([]);
    sink.respond(undefined);
    await eventually(taken).toEqual(["a"]);
    await eventually(exporterStatus).toMatchObject({ state: "UP", queue: { entries: 0 } });
  });

  it("only 3 records of 1000 gets the other 997 once, and each bad one is a dead letter with its own error", async () => {
    const server = await startPickySink((body) => /^bad/.test(body));
    const wrapped = await startWrapped(exporter().replace(sink.url, server.url));
    const records = Array.from({ length: 1000 }, (_, i) => ([7, 512, 998].includes(i) ? `bad${i}` : `r${i}`));
    await wrapped.send(...records);
    await eventually(() => deadLetters(wrapped)).toHaveLength(3);
    await eventually(() => server.taken.length).toBe(997);
    expect(new Set(server.taken).size).toBe(997);
    const messages = (await deadLetters(wrapped))
      .map(({ items, lastError }) => `${items} ${lastError?.message}`)
      .sort();
    expect(messages).toEqual(["1 HTTP 400: bad512", "1 HTTP 400: bad7", "1 HTTP 400: bad998"]);
    await server.close();
  });

  it("some records of a batch it took (partial success) leaves a dead letter and counts", async () => {
    sink.respond((_request, response) => {
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify({ partialSuccess: { rejectedLogRecords: "1", errorMessage: "too old" } }));
    });
    const wrapped = await startWrapped(exporter());
    await wrapped.send("a", "b");
    await eventually(() => deadLetters(wrapped)).toMatchObject([{ failure: { reason: "partial_success" } }]);
    expect(wrapped.metrics.value("otelcol_exporter_sent_log_records")).toBe(1);
    expect(wrapped.metrics.value("otelcol_exporter_send_failed_log_records")).toBe(1);
  });

  it("with 404 for a wrong path leaves dead letters after one call, which a replay delivers when it is right", async () => {
    sink.respond(status(404));
    const wrapped = await startWrapped(exporter());
    await wrapped.send("a", "b");
    await eventually(() => deadLetters(wrapped)).toMatchObject([
      {
        attempts: 1,
        items: 2,
        failure: { reason: "permanent", category: "integration", error: { class: "HTTP 404" } },
      },
    ]);
    expect(sink.requests).toHaveLength(1);
    sink.respond(undefined);
    await wrapped.agent.admin!.replay({ query: { exporter: "otlp_http" } }, { by: "test" });
    await eventually(taken).toEqual(["a", "b"]);
    expect(await deadLetters(wrapped)).toEqual([]);
  });

  it("is retried if configured", async () => {
    sink.respond(status(404));
    const wrapped = await startWrapped(
      exporter().replace(QUICK, "retry_on_failure: {initial_interval: 1ms, retry_on: [404]}"),
    );
    await wrapped.send("a");
    await eventually(() => sink.requests.length).toBeGreaterThan(1);
    sink.respond(undefined);
    await eventually(taken).toEqual(["a"]);
  });
});

describe("the breaker of an exporter without traffic", () => {
  it("closes when the backend is back, even if the queue is empty", async () => {
    sink.respond(status(503));
    const breaker = "reset_timeout: 10ms, on_open: dead_letter, failure_threshold: 1";
    const wrapped = await startWrapped(exporter().replace("reset_timeout: 10ms", breaker));
    const { admin } = wrapped.agent;
    await wrapped.send("a");
    await eventually(() => admin!.exporters()[0]?.breaker.state).toBe("open");
    await wrapped.send("b");
    await eventually(() => deadLetters(wrapped)).toHaveLength(2);
    sink.respond(undefined);
    await eventually(() => admin!.exporters()[0]?.breaker.state).toBe("closed");
    await admin!.replay({ query: {} }, { by: "test" });
    await eventually(() => taken().sort()).toEqual(["a", "b"]);
  });
});

describe("the agent", () => {
  it("keeps what it accepted through a stop and sends it after the next start, in order", async () => {
    sink.respond(status(503));
    const first = await startWrapped(exporter("sending_queue: {num_consumers: 1}"));
    for (let i = 0; i < 20; i++) expect(await first.send(`r${i}`)).toMatchObject({ ok: true });
    await first.agent.stop();
    expect(sink.count).toBe(0);
    sink.respond(undefined);
    const options = { directory: first.directory };
    await startWrapped(exporter("sending_queue: {num_consumers: 1}"), options);
    await eventually(() => sink.count).toBe(20);
    expect(sink.batches.flatMap(bodies)).toEqual(Array.from({ length: 20 }, (_, i) => `r${i}`));
  });

  it("names the config on every entry, and a replay that of the replay", async () => {
    sink.respond(status(409));
    const first = await startWrapped(exporter("timeout: 7s"));
    await first.send("a");
    await eventually(() => deadLetters(first)).toMatchObject([{ generation: first.agent.generation }]);
    await first.agent.stop();
    const second = await startWrapped(exporter(), { directory: first.directory });
    expect(second.agent.generation).not.toBe(first.agent.generation);
    await second.agent.admin!.replay({ query: {} }, { by: "test" });
    const [now, before] = [second.agent.generation, first.agent.generation];
    await eventually(() => deadLetters(second)).toMatchObject([{ generation: now, cycles: [{ generation: before }] }]);
  });

  it("sends the idempotency key, the same for every attempt", async () => {
    sink.respond(status(503));
    const wrapped = await startWrapped(exporter());
    await wrapped.send("a");
    await eventually(() => sink.requests.length).toBeGreaterThan(1);
    sink.respond(undefined);
    await eventually(() => sink.count).toBe(1);
    // Once the breaker is open, the agent also asks with empty requests whether the backend is well again.
    const attempts = sink.requests.filter(({ headers }) => headers["content-length"] !== "0");
    const keys = attempts.map(({ headers }) => headers["sluice-idempotency-key"]);
    expect(keys[0]).toMatch(/^[0-9a-f]+-\d+$/);
    expect([...new Set(keys)]).toHaveLength(1);
  });

  it("lets one exporter work while another hangs for ever", async () => {
    const hanging = await startSink();
    hanging.respond(() => {});
    const both = `${exporter()}
  otlp_http/dead:
    endpoint: ${hanging.url}
    timeout: 0s`;
    const wrapped = await startWrapped(both);
    for (let i = 0; i < 50; i++) expect(await wrapped.send(`r${i}`)).toMatchObject({ ok: true });
    await eventually(() => sink.count).toBe(50);
    expect(hanging.count).toBe(0);
    expect(wrapped.agent.admin!.exporters().map(({ id, queue }) => [id, queue.entries])).toEqual([
      ["otlp_http", expect.any(Number)],
      ["otlp_http/dead", 50],
    ]);
    await wrapped.agent.stop(1);
    await hanging.close();
  });

  it("delivers through one exporter while the breaker of another is open", async () => {
    const broken = await startSink();
    broken.respond(status(503));
    const both = `${exporter()}
  otlp_http/broken:
    endpoint: ${broken.url}
    ${QUICK}`;
    const wrapped = await startWrapped(both);
    for (let i = 0; i < 20; i++) await wrapped.send(`r${i}`);
    const breakers = () => wrapped.agent.admin!.exporters().map(({ breaker }) => breaker.state);
    await eventually(breakers).toEqual(["closed", "open"]);
    for (let i = 20; i < 40; i++) await wrapped.send(`r${i}`);
    await eventually(() => sink.count).toBe(40);
    expect(breakers()).toEqual(["closed", "open"]);
    expect(await deadLetters(wrapped)).toEqual([]);
    await wrapped.agent.stop(1);
    await broken.close();
  });

  it("lets the client wait for the export when the queue is off", async () => {
    sink.respond(status(503, { "retry-after": "7" }));
    const wrapped = await startWrapped(exporter("sending_queue: {enabled: false}"));
    expect(await wrapped.send("a")).toMatchObject({ ok: false, refusal: { kind: "throttled", retryAfterMs: 7000 } });
    expect(sink.requests).toHaveLength(1);
    sink.respond(undefined);
    expect(await wrapped.send("a")).toMatchObject({ ok: true });
    expect(taken()).toEqual(["a"]);
    expect(wrapped.agent.admin!.exporters()).toMatchObject([
      { id: "otlp_http", state: "UP", queue: { enabled: false }, lastError: { class: "HTTP 503" } },
    ]);
  });

  it("takes the defaults of all exporters from the extension", async () => {
    sink.respond(status(503));
    const off = ", sending_queue: {enabled: false}";
    const wrapped = await startWrapped(exporter(), { defaults: off });
    expect(await wrapped.send("a")).toMatchObject({ ok: false });
  });

  it("says which key is to blame when its directory cannot be used", async () => {
    await expect(startWrapped(exporter(), { directory: "/dev/null/queue" })).rejects.toMatchObject({
      problems: [{ path: "extensions.reliability.directory", message: expect.stringContaining("/dev/null/queue") }],
    });
  });

  it("refuses to share a queue with another process", async () => {
    const first = await startWrapped(exporter());
    await expect(startWrapped(exporter(), { directory: first.directory })).rejects.toMatchObject({
      problems: [{ path: "exporters.otlp_http", message: expect.stringContaining("cannot be opened") }],
    });
  });
});

/** A backend that refuses every request with a record it does not like, and says which. */
async function startPickySink(isBad: (body: string) => boolean) {
  const { createServer } = await import("node:http");
  const { Batch } = await import("../../../../../src/plugin.js");
  const kept: string[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const records = bodies(Batch.admit("logs", Buffer.concat(chunks)));
      const bad = records.find(isBad);
      if (bad !== undefined) return void response.writeHead(400, { "content-type": "text/plain" }).end(bad);
      kept.push(...records);
      response.writeHead(200, { "content-type": "application/x-protobuf" }).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" ? address?.port : 0;
  return {
    url: `http://127.0.0.1:${port}`,
    taken: kept,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
