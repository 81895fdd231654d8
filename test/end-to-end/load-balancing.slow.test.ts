import { afterEach, expect, it } from "vitest";
import { type Batch, batchFromJson, readRecords } from "../../src/plugin.js";
import { type AgentProcess, startAgentProcess } from "../support/agent-process.js";
import { cleanUp, startFed } from "../support/fed-agent.js";
import { type OtlpSink, startSink } from "../support/otlp-sink.js";
import { startDnsServer } from "../support/servers/dns.js";

const TRACES = 300;
const SPANS_EACH = 5;

/** A gateway as people run it, and where what it gets arrives. */
interface Gateway {
  readonly host: string;
  readonly port: number;
  readonly process: AgentProcess;
  readonly sink: OtlpSink;
}

const gateways: Gateway[] = [];
let hosts = 0;
afterEach(async () => {
  await cleanUp();
  for (const { process, sink } of gateways.splice(0)) {
    process.child.kill("SIGKILL");
    await process.exited;
    await sink.close();
  }
});

/** All have one port, at addresses of their own, as pods have. */
async function startGateway(port = 0): Promise<Gateway> {
  const host = `127.0.0.${10 + hosts++}`;
  const sink = await startSink();
  const process = await startAgentProcess({
    yaml: `
receivers: {otlp: {protocols: {grpc: {endpoint: "${host}:${port}"}}}}
exporters: {otlp_http: {endpoint: "${sink.url}", sending_queue: {enabled: false}}}
extensions: {health_check: {endpoint: "${host}:0"}, admin: {endpoint: "${host}:0"}}
service:
  extensions: [health_check, admin]
  telemetry: {metrics: {level: none}}
  pipelines: {traces: {receivers: [otlp], exporters: [otlp_http]}}
`,
  });
  const gateway = { host, port: process.ports.grpc, process, sink };
  gateways.push(gateway);
  return gateway;
}

/** So many traces, in as many batches as each has spans: every batch has one span of each. */
function tracesFrom(first: number): Batch[] {
  return Array.from({ length: SPANS_EACH }, (_, part) => {
    const spans = Array.from({ length: TRACES }, (_, i) => ({
      traceId: (first + i + 1).toString(16).padStart(32, "a"),
      spanId: ((first + i) * SPANS_EACH + part + 1).toString(16).padStart(16, "0"),
      name: "s",
    }));
    return batchFromJson("traces", JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans }] }] }));
  });
}

/** The spans that have arrived, by trace, with the gateways they came through. */
function arrived(): Map<string, { readonly spans: Set<string>; readonly through: Set<string> }> {
  const traces = new Map<string, { spans: Set<string>; through: Set<string> }>();
  for (const { host, sink } of gateways) {
    for (const batch of sink.batches) {
      readRecords(batch, (record) => {
        if (record.signal !== "traces") return;
        const trace = traces.get(record.traceId) ?? { spans: new Set(), through: new Set() };
        traces.set(record.traceId, trace);
        trace.spans.add(record.spanId);
        trace.through.add(host);
      });
    }
  }
  return traces;
}

const spansArrived = () => [...arrived().values()].reduce((sum, { spans }) => sum + spans.size, 0);
const torn = () => [...arrived().values()].filter(({ through }) => through.size > 1);

it("keeps traces whole over four gateways, while one is added and while one is killed", async () => {
  const dns = await startDnsServer();
  const first = await startGateway();
  await Promise.all([startGateway(first.port), startGateway(first.port), startGateway(first.port)]);
  const resolve = (list: readonly Gateway[]) =>
    dns.names.set(
      "gateways.test",
      list.map(({ host }) => host),
    );
  resolve(gateways);
  const { hand, metrics, agent } = await startFed(
    (directory) => `
extensions: {reliability: {directory: "${directory}"}}
exporters:
  load_balancing:
    protocol: {otlp: {tls: {insecure: true}}}
    resolver: {dns: {hostname: gateways.test, port: ${first.port}, servers: ["${dns.address}"], interval: 50ms}}
    retry_on_failure: {initial_interval: 50ms, max_interval: 200ms}
service:
  extensions: [reliability]
  pipelines: {traces: {receivers: [hand], exporters: [load_balancing]}}
`,
  );
  const send = async (batches: readonly Batch[]) => {
    for (const batch of batches) expect(await hand(batch)).toMatchObject({ ok: true });
  };
  const allHere = (count: number) => expect.poll(spansArrived).toBe(count * SPANS_EACH);
  const endpoints = () => metrics.value("otelcol_loadbalancer_num_backends");

  await send(tracesFrom(0));
  await allHere(TRACES);
  expect(torn()).toEqual([]);
  for (const { sink } of gateways) expect(sink.count).toBeGreaterThan(0);

  const added = await startGateway(first.port);
  resolve(gateways);
  await expect.poll(endpoints).toBe(5);
  await send(tracesFrom(TRACES));
  await allHere(2 * TRACES);
  expect(torn()).toEqual([]);
  expect(added.sink.count).toBeGreaterThan(0);

  // One dies in the middle of traces; it is still in the ring when the rest of them is sent.
  const killed = gateways[1]!;
  const [before, ...rest] = tracesFrom(2 * TRACES);
  await send([before!]);
  await expect.poll(spansArrived).toBe(2 * TRACES * SPANS_EACH + TRACES);
  killed.process.child.kill("SIGKILL");
  await killed.process.exited;
  await send(rest);
  await expect
    .poll(() => metrics.value("otelcol_loadbalancer_backend_outcome", { success: "false" }))
    .toBeGreaterThan(0);
  resolve(gateways.filter((each) => each !== killed));
  await expect.poll(endpoints).toBe(4);
  await allHere(3 * TRACES);
  // Traces in flight are those that had arrived in part. They are torn, but no span is lost.
  const inFlight = torn();
  for (const { through } of inFlight) expect(through).toContain(killed.host);
  expect(inFlight.length).toBeGreaterThan(0);
  expect(inFlight.length).toBeLessThan(TRACES / 2);

  await send(tracesFrom(3 * TRACES));
  await allHere(4 * TRACES);
  expect(torn().length).toBe(inFlight.length);
  expect(await agent.admin!.listDeadLetters({})).toMatchObject({ entries: [] });
  await dns.close();
});
