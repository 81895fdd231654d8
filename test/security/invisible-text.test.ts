import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { sluiceProcess } from "../agent/cli/dlq/support.js";
import { type AgentProcess, adminToken, startAgentProcess } from "../support/agent-process.js";
import { type OtlpSink, startSink } from "../support/otlp-sink.js";

/** Reversed direction, isolates, marks, terminal control, line separators, a tag that is an invisible A. */
const HIDDEN = "paid\u202e001\u202c \u2066x\u2069 \u200f \u009b31m\u001b[2J \u2028 \u{e0041}\ufeff end";
// biome-ignore lint/suspicious/noControlCharactersInRegex: looking for control characters
const FORBIDDEN = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]|\udb40/;

describe("characters that hide or reorder text", () => {
  let backend: OtlpSink;
  let agent: AgentProcess;

  beforeAll(async () => {
    backend = await startSink();
    backend.respond((_, response) => {
      response.writeHead(400, { "content-type": "application/json" });
      response.end(JSON.stringify({ code: 3, message: `wrong ${HIDDEN}` }));
    });
    agent = await startAgentProcess({
      yaml: `
receivers: {otlp: {protocols: {http: {endpoint: 127.0.0.1:0}}}}
exporters: {otlp_http: {endpoint: "${backend.url}"}, debug: {verbosity: detailed}, debug/short: {verbosity: normal}}
extensions: {admin: {endpoint: 127.0.0.1:0}}
service:
  extensions: [admin]
  telemetry: {logs: {level: debug}, metrics: {level: none}}
  pipelines: {logs: {receivers: [otlp], exporters: [otlp_http, debug, debug/short]}}
`,
    });
  });
  afterAll(async () => {
    agent?.child.kill("SIGTERM");
    await agent?.exited;
    await backend.close();
  });

  it("are escaped in the log, on stdout and in the output of commands", async () => {
    const attributes = [{ key: HIDDEN, value: { stringValue: HIDDEN } }];
    const logRecords = [{ eventName: HIDDEN, severityText: HIDDEN, body: { stringValue: HIDDEN }, attributes }];
    await fetch(`http://127.0.0.1:${agent.ports.http}/v1/logs?${encodeURIComponent(HIDDEN)}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ resourceLogs: [{ resource: { attributes }, scopeLogs: [{ logRecords }] }] }),
    });
    const kept = () => agent.output.stderr.split("\n").find((line) => line.includes("kept as a dead letter"));
    await expect.poll(kept).toContain("paid\\u202e001");
    await expect.poll(() => agent.output.stdout).toContain("paid\\u202e001");
    const listening = agent.output.stderr.split("\n").find((line) => line.includes("admin API is listening"))!;
    const origin = `http://${JSON.parse(listening).endpoint}`;
    const env = { SLUICE_ADMIN_TOKEN: await adminToken(origin) };
    const { id } = JSON.parse(kept()!);
    const outputs = [agent.output.stderr, agent.output.stdout];
    for (const args of [["list"], ["list", "--json"], ["stats"], ["show", id, "--payload"], ["show", id, "--json"]]) {
      const { out, err } = await sluiceProcess(["dlq", ...args, "--api", origin], process.cwd(), env);
      expect(out).not.toBe("");
      outputs.push(out, err);
    }
    for (const output of outputs) expect(output.split("\n").find((line) => FORBIDDEN.test(line))).toBeUndefined();
  });
});
