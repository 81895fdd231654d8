import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createHttp2Server, type ServerHttp2Stream } from "node:http2";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ROUTES } from "../../src/extensions/admin-api/routes.js";
import { sluiceProcess } from "../agent/cli/dlq/support.js";
import { type AgentProcess, startAgentProcess } from "../support/agent-process.js";
import { runs } from "../support/runs.js";

const VIEWER = "a-token-to-look-with-4Tq8";

/** Components whose errors hold a text of the record. */
const PLUGIN = `
import { defineExporter, defineProcessor, eachRecord, Refusal } from "sluice/plugin";
export const thrower = defineExporter({
  type: "thrower",
  create: (_, { logger }) => ({
    async send(batch) {
      const text = Buffer.from(batch.bytes).toString("utf8").match(/<<(.*?)>>/s)?.[1] ?? "";
      logger.warn({ detail: { [text]: [text] }, err: new TypeError(text, { cause: new Error(text) }) }, "said " + text);
      throw new Refusal("permanent", "cannot store " + text, { code: text, cause: new Error(text) });
    },
  }),
});
export const failing = defineProcessor({
  type: "failing",
  create: () => eachRecord((record) => { throw new Error("cannot read " + record.body); }),
});
`;

/** One agent with backends that say what they like, and everything through which people hear from it. */
describe("a personal value or a secret in a text from outside", () => {
  const planted = { text: "" };
  const heard = { notifications: "", ownLogs: "" };
  const folder = mkdtempSync(join(tmpdir(), "sluice-test-"));
  const servers: { close(): unknown }[] = [];
  let agent: AgentProcess;
  let origin = "";
  let token = "";

  const listen = async (server: ReturnType<typeof createServer> | ReturnType<typeof createHttp2Server>) => {
    await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
    servers.push(server);
    return (server.address() as AddressInfo).port;
  };
  const answering = (answer: (request: IncomingMessage, response: ServerResponse, body: string) => void) =>
    createServer((request, response) => {
      let body = "";
      request.setEncoding("utf8").on("data", (text) => (body += text));
      request.on("end", () => answer(request, response, body));
    });

  beforeAll(async () => {
    const http = await listen(
      answering((_, response) => {
        response.statusMessage = latin1(planted.text);
        response.writeHead(400, { "x-reason": latin1(planted.text), "www-authenticate": latin1(planted.text) });
        response.end(JSON.stringify({ code: 3, message: `invalid: ${planted.text}` }));
      }),
    );
    const partial = await listen(
      answering((_, response) => {
        response.writeHead(200, { "content-type": "application/json" });
        response.end(JSON.stringify({ partialSuccess: { rejectedLogRecords: "1", errorMessage: planted.text } }));
      }),
    );
    const grpc = await listen(
      createHttp2Server().on("stream", (stream: ServerHttp2Stream) => {
        stream.on("error", () => {}).resume();
        const message = encodeURIComponent(`refused ${planted.text}`);
        const headers = { "content-type": "application/grpc", "grpc-status": "3", "grpc-message": message };
        stream.respond({ ":status": 200, ...headers }, { endStream: true });
      }),
    );
    const bulk = await listen(
      answering((_, response, body) => {
        const reason = `failed to parse field: '${planted.text}'`;
        const item = { create: { status: 400, error: { type: "mapper_parsing_exception", reason } } };
        const count = body.split("\n").filter((line) => line.startsWith('{"create"')).length;
        response.writeHead(200, { "content-type": "application/json", "x-elastic-product": "Elasticsearch" });
        response.end(JSON.stringify({ errors: true, items: Array.from({ length: count }, () => item) }));
      }),
    );
    const notified = await listen(
      answering((_, response, body) => {
        heard.notifications += body;
        response.end();
      }),
    );
    const ownLogs = await listen(
      answering((_, response, body) => {
        heard.ownLogs += body;
        response.writeHead(200, { "content-type": "application/json" }).end("{}");
      }),
    );
    writeFileSync(join(folder, "plugin.js"), PLUGIN);
    writeFileSync(
      join(folder, "config.yaml"),
      `
plugins: [./plugin.js]
receivers:
  otlp: {protocols: {http: {endpoint: 127.0.0.1:0, include_metadata: true}}}
  prometheus: {config: {scrape_configs: [{job_name: a, scrape_interval: 100ms, static_configs: [{targets: ["127.0.0.1:${http}"]}]}]}}
processors: {failing: {}}
exporters:
  otlp_http/queued: {endpoint: "http://127.0.0.1:${http}", compression: none}
  otlp_http/direct: {endpoint: "http://127.0.0.1:${http}", sending_queue: {enabled: false}, retry_on_failure: {enabled: false}}
  otlp_http/partial: {endpoint: "http://127.0.0.1:${partial}", encoding: json}
  otlp_grpc: {endpoint: "127.0.0.1:${grpc}", tls: {insecure: true}}
  elasticsearch: {endpoint: "http://127.0.0.1:${bulk}", compression: none}
  thrower: {}
  nop: {}
extensions:
  admin:
    endpoint: 127.0.0.1:0
    token_file: ${folder}/token
    tokens: [{name: viewer, token: ${VIEWER}, roles: [view]}]
  health_check: {endpoint: 127.0.0.1:0}
  reliability:
    directory: ${folder}/queues
    encryption: {keys: [{id: main, key: ${"ab".repeat(32)}}]}
    dead_letter: {keep_stack: true, keep_metadata: [user-agent], notify: {url: "http://127.0.0.1:${notified}/", interval: 10ms}}
service:
  extensions: [admin, health_check, reliability]
  telemetry:
    logs: {level: debug, processors: [{simple: {exporter: {otlp: {protocol: http/json, endpoint: "http://127.0.0.1:${ownLogs}"}}}}]}
    metrics: {readers: [{pull: {exporter: {prometheus: {host: 127.0.0.1, port: 0}}}}]}
  pipelines:
    logs: {receivers: [otlp], exporters: [otlp_http/queued, otlp_http/partial, elasticsearch, thrower]}
    logs/direct: {receivers: [otlp], exporters: [otlp_http/direct]}
    logs/failing: {receivers: [otlp], processors: [failing], exporters: [nop]}
    traces: {receivers: [otlp], exporters: [otlp_http/queued, otlp_grpc]}
    metrics: {receivers: [otlp], exporters: [otlp_http/queued]}
    metrics/scraped: {receivers: [prometheus], exporters: [nop]}
`,
    );
    agent = await startAgentProcess({ file: join(folder, "config.yaml") });
    origin = `http://${logged("admin API is listening")["endpoint"]}`;
    token = readFileSync(join(folder, "token"), "utf8").trim();
  });
  afterAll(async () => {
    agent?.child.kill("SIGTERM");
    await agent?.exited;
    for (const server of servers) server.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const logged = (message: string): Record<string, string> =>
    JSON.parse(agent.output.stderr.split("\n").find((line) => line.includes(message))!);
  const read = async (url: string) => (await fetch(url, { headers: { authorization: `Bearer ${token}` } })).text();
  const api = (path: string) => read(`${origin}/api/v1${path}`);
  const send = (signal: string, body: object) =>
    fetch(`http://127.0.0.1:${agent.ports.http}/v1/${signal}`, {
      method: "POST",
      headers: { "content-type": "application/json", "user-agent": latin1(planted.text) },
      body: JSON.stringify(body),
    });
  const entries = async (exporter: string): Promise<{ id: string; failure: { names: string[] } }[]> =>
    JSON.parse(await api(`/dead-letters?exporter=${encodeURIComponent(exporter)}&limit=1000`)).entries;

  /** Everything that people can read without the right to reveal. */
  async function everythingShown(): Promise<Record<string, string>> {
    const ids = (await entries("otlp_http/queued")).slice(0, 3).map(({ id }) => id);
    const shown: Record<string, string> = { log: agent.output.stderr, ...heard };
    for (const { method, path, role } of ROUTES) {
      if (method !== "GET" || role !== "view" || /events|\/live|:id\/config/.test(path)) continue;
      const paths = path.includes("/dead-letters/:id") ? ids.map((id) => `/dead-letters/${id}?payload=true`) : [path];
      for (const one of paths) shown[one] = await api(one.replace(":id", "otlp_http%2Fqueued"));
    }
    for (const page of ["exporters", "receivers"])
      shown[page] = await read(`http://${logged("health check is listening")["endpoint"]}/healthz/${page}`);
    shown["metrics"] = await read(logged("metrics for Prometheus")["url"]!);
    return shown;
  }

  it("reaches no log line, API, metric, health page or notification, and the rest of the text does", async () => {
    const signals = ["otlp_http/queued", "otlp_http/partial", "elasticsearch", "thrower", "otlp_grpc"];
    const before = new Map<string, number>();
    await fc.assert(
      fc.asyncProperty(outsideText, async ({ text, values }) => {
        planted.text = text;
        for (const exporter of signals) before.set(exporter, (await entries(exporter)).length);
        const attributes = [{ key: text, value: { stringValue: text } }];
        const body = { stringValue: `<<${text}>>` };
        const logRecords = [{ eventName: text, body, attributes }];
        await send("logs", { resourceLogs: [{ schemaUrl: text, scopeLogs: [{ logRecords }] }] });
        const ids = { traceId: "0af7651916cd43dd8448eb211c80319c", spanId: "b7ad6b7169203331" };
        const spans = [{ ...ids, name: text, attributes, startTimeUnixNano: "1", endTimeUnixNano: "2" }];
        await send("traces", { resourceSpans: [{ scopeSpans: [{ spans }] }] });
        const metrics = [{ name: text, description: text, gauge: { dataPoints: [{ asInt: "1", attributes }] } }];
        await send("metrics", { resourceMetrics: [{ scopeMetrics: [{ metrics }] }] });
        for (const exporter of signals) {
          const more = exporter === "otlp_http/queued" ? 3 : 1;
          await expect.poll(async () => (await entries(exporter)).length).toBe(before.get(exporter)! + more);
        }
        await expect.poll(() => heard.notifications).not.toBe("");
        const shown = await everythingShown();
        for (const [where, page] of Object.entries(shown))
          for (const value of values) expect([where, lineWith(page, value)]).toEqual([where, undefined]);
      }),
      { ...runs(6), endOnFailure: true }, // a run takes seconds, and what it found is in its message
    );
    const log = agent.output.stderr;
    for (const part of ["invalid: ", "refused ", "failed to parse field", "cannot store", "cannot read", "said "])
      expect(log).toContain(part);
    expect(log).toContain("****");
  });

  it("cannot be guessed by somebody who may not see it", async () => {
    const [value] = everPlanted;
    const found = async (event: string, as: string) => {
      const headers = { authorization: `Bearer ${as}` };
      const url = `${origin}/api/v1/dead-letters?event=${encodeURIComponent(event)}`;
      return JSON.parse(await (await fetch(url, { headers })).text()).entries.length > 0;
    };
    expect(await found(`*${value}*`, token)).toBe(true);
    expect(await found(`*${value}*`, VIEWER)).toBe(false);
    expect(await found(`*${value!.slice(0, 3)}*`, VIEWER)).toBe(false);
    expect(await found("the fields *", VIEWER)).toBe(true);
  });

  it("is shown neither by a replay nor by the audit", async () => {
    const response = await fetch(`${origin}/api/v1/dead-letters/replay`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify({
        by: "ops",
        reason: `asked by ${[...everPlanted].join(" ")}`,
        query: { exporter: "thrower" },
      }),
    });
    const { id } = (await response.json()) as { id: string };
    await expect.poll(async () => JSON.parse(await api(`/replays/${id}`)).isSettled).toBe(true);
    for (const page of [await api(`/replays/${id}`), await api("/replays"), await api("/audit")]) {
      expect(page).toContain("****");
      for (const value of everPlanted) expect(lineWith(page, value)).toBeUndefined();
    }
  });

  it("reaches no output of sluice dlq, with the agent and without", async () => {
    const { id } = (await entries("otlp_http/queued"))[0]!;
    const env = { SLUICE_ADMIN_TOKEN: token };
    const commands = [["list"], ["list", "--json"], ["stats"], ["show", id, "--payload"], ["export"], ["audit"]];
    const outputOf = async (...where: string[]) => {
      const outputs: string[] = [];
      for (const args of commands) {
        const { out, err } = await sluiceProcess(["dlq", ...args, ...where], folder, env);
        outputs.push(out, err);
      }
      return outputs.join("\n");
    };
    const online = await outputOf("--api", origin);
    agent.child.kill("SIGTERM");
    await agent.exited;
    for (const output of [online, await outputOf("--config", join(folder, "config.yaml"))]) {
      expect(output).toContain("****");
      for (const value of everPlanted) expect(lineWith(output, value)).toBeUndefined();
    }
  });
});

function lineWith(page: string, value: string): string | undefined {
  return page.split("\n").find((line) => line.includes(value));
}

/** Values that were planted, by all runs. */
const everPlanted = new Set<string>();

function latin1(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, " ");
}

const letters = (min: number, max: number) =>
  fc.string({ unit: fc.constantFrom(..."abcdefghijklmnopqrstuvwxyz"), minLength: min, maxLength: max });
const digits = (length: number) =>
  fc.string({ unit: fc.constantFrom(..."0123456789"), minLength: length, maxLength: length });
const random = (length: number) =>
  fc.string({
    unit: fc.constantFrom(..."ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"),
    minLength: length,
    maxLength: length,
  });

const mail = fc.tuple(letters(3, 9), letters(3, 9), letters(4, 9)).map(([a, b, c]) => `${a}.${b}@${c}.com`);
const card = digits(14).map((rest) => withLuhn(`4${rest}`));
const iban = digits(18).map((account) => `DE${ibanCheck(account)}${account}`);
const key = random(36).map((rest) => `ghp_${rest}`);

/** A sentence with a value of each kind, in an order and with separators that vary. */
const outsideText = fc
  .tuple(
    fc.tuple(mail, card, iban, key),
    fc.shuffledSubarray([0, 1, 2, 3], { minLength: 4 }),
    fc.constantFrom(" ", ", ", '" "'),
  )
  .map(([found, order, separator]) => {
    const values = order.map((i) => found[i]!);
    for (const value of values) everPlanted.add(value);
    return { values, text: `the fields ${values.join(separator)} are wrong` };
  });

/** Appends the check digit of payment cards. */
function withLuhn(start: string): string {
  const sum = [...start].reverse().reduce((total, digit, i) => {
    const doubled = Number(digit) * (i % 2 === 0 ? 2 : 1);
    return total + (doubled > 9 ? doubled - 9 : doubled);
  }, 0);
  return `${start}${(10 - (sum % 10)) % 10}`;
}

function ibanCheck(account: string): string {
  return String(98n - (BigInt(`${account}131400`) % 97n)).padStart(2, "0");
}
