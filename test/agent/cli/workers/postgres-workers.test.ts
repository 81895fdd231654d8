import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { startAgentProcess } from "../../../support/agent-process.js";
import { startSink } from "../../../support/otlp-sink.js";
import { postgresProgram, startPostgres } from "../../../support/servers/postgres.js";
import { bodies } from "../../../support/telemetry/batches.js";
import { temporaryFolder } from "../../../support/temporary-folder.js";

describe.skipIf(postgresProgram === undefined)("queues of several workers on PostgreSQL", () => {
  it("are adopted when the agent was killed and runs without workers", async () => {
    const folder = temporaryFolder();
    const postgres = await startPostgres();
    onTestFinished(() => postgres.close());
    const sink = await startSink();
    onTestFinished(() => sink.close());
    const { endpoint, username, database } = postgres.keys;
    const store = `{postgres: {endpoint: "${endpoint}", username: ${username}, database: ${database}, agent: a}}`;
    const file = join(folder, "sluice.yaml");
    const start = async (workers: number) => {
      const yaml = `
receivers: {otlp: {protocols: {http: {endpoint: "127.0.0.1:0"}}}}
exporters: {otlp_http: {endpoint: "${sink.url}", circuit_breaker: {reset_timeout: 200ms}, retry_on_failure: {initial_interval: 50ms, max_interval: 200ms}}}
extensions: {reliability: {store: ${store}}}
service:
  workers: ${workers}
  extensions: [reliability]
  telemetry: {metrics: {level: none}}
  pipelines: {logs: {receivers: [otlp], exporters: [otlp_http]}}
`;
      writeFileSync(file, yaml);
      const agent = await startAgentProcess({ file });
      onTestFinished(async () => {
        agent.child.kill("SIGKILL");
        await agent.exited;
      });
      return agent;
    };
    sink.decide(() => 503);
    const three = await start(3);
    const texts = Array.from({ length: 30 }, (_, i) => `text-${i}`).sort();
    const statuses = texts.map(async (text) => {
      const logRecords = [{ body: { stringValue: text } }];
      const headers = { "content-type": "application/json", connection: "close" };
      const body = JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] });
      const url = `http://127.0.0.1:${three.ports.http}/v1/logs`;
      return (await fetch(url, { method: "POST", headers, body })).status;
    });
    expect(await Promise.all(statuses)).toEqual(Array(30).fill(200));
    three.child.kill("SIGKILL");
    await three.exited;
    sink.decide(() => 200);
    await start(1);
    // Records that were being sent when the agent was killed may arrive twice.
    await expect.poll(() => [...new Set(sink.batches.flatMap(bodies))].sort()).toEqual(texts);
  });
});
