import { afterEach, expect, it } from "vitest";
import { ACCEPTED } from "../../src/runtime/contract/debt.js";
import { type OtlpSink, startSink } from "../support/otlp-sink.js";
import { bodies, logs } from "../support/telemetry/batches.js";
import { cleanUp, startFed } from "./agent.js";

const sinks: OtlpSink[] = [];
afterEach(async () => {
  await cleanUp();
  for (const sink of sinks.splice(0)) await sink.close();
});

it("passes the records that one connector selects through the connectors after it", async () => {
  const sink = await startSink();
  sinks.push(sink);
  const { hand } = await startFed(`
exporters: {otlp_http: {endpoint: "${sink.url}"}}
connectors:
  routing: {table: [{context: log, condition: 'body == "a"', pipelines: [logs/a]}], default_pipelines: [logs/b]}
  failover: {priority_levels: [[logs/1], [logs/2]]}
  forward:
service:
  extensions: [reliability]
  pipelines:
    logs/in: {receivers: [hand], exporters: [routing]}
    logs/a: {receivers: [routing], exporters: [failover]}
    logs/b: {receivers: [routing], exporters: [forward]}
    logs/1: {receivers: [failover], exporters: [otlp_http]}
    logs/2: {receivers: [failover], exporters: [otlp_http]}
    logs/out: {receivers: [forward], exporters: [otlp_http]}
`);
  expect(await hand(logs("a", "b"))).toEqual(ACCEPTED);
  await expect.poll(() => sink.batches.flatMap(bodies).sort()).toEqual(["a", "b"]);
});

it("sends records once to a pipeline that a connector's config names twice", async () => {
  const sink = await startSink();
  sinks.push(sink);
  const { hand } = await startFed(`
exporters: {otlp_http: {endpoint: "${sink.url}", sending_queue: {num_consumers: 1}}}
connectors:
  routing:
    table: [{context: log, condition: 'body == "a"', pipelines: [logs/a, logs/a]}]
    default_pipelines: [logs/b, logs/a, logs/b]
  failover: {priority_levels: [[logs/c, logs/c]]}
service:
  extensions: [reliability]
  pipelines:
    logs/in: {receivers: [hand], exporters: [routing]}
    logs/a: {receivers: [routing], exporters: [otlp_http]}
    logs/b: {receivers: [routing], exporters: [failover]}
    logs/c: {receivers: [failover], exporters: [otlp_http]}
`);
  for (const batch of [logs("a", "b"), logs("a"), logs("last")]) expect(await hand(batch)).toEqual(ACCEPTED);
  const seen = () => sink.batches.flatMap(bodies);
  await expect.poll(() => seen()).toContain("last");
  expect(seen().filter((body) => body !== "last")).toHaveLength(4);
});
