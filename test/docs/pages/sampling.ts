import { afterEach, expect, it } from "vitest";
import { freePort } from "../../../src/agent/testing/free-port.js";
import { type Batch, readRecords } from "../../../src/plugin.js";
import { agentOf, resolve } from "../../support/agent.js";
import { type OtlpSink, startSink } from "../../support/otlp-sink.js";
import { logBatch, spanBatch, traceId } from "../../support/sampled.js";
import { blocksIn, type Page } from "../pages.js";

/** A fragment with only processors becomes a config. */
function whole(example: string): string {
  if (example.includes("\nservice:")) return example;
  const [, processor] = /^ {2}(\w+):/m.exec(example)!;
  return `${example}
receivers: { otlp: { protocols: { http: } } }
exporters: { nop: }
service: { pipelines: { traces: { receivers: [otlp], processors: [${processor}], exporters: [nop] } } }
`;
}

export function sampling(page: Page): void {
  const examples = blocksIn(page, "yaml");
  const stops: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    for (const stop of stops.splice(0).reverse()) await stop();
  });

  /** The example with its endpoints on loopback; gives where it listens. */
  async function start(yaml: string, sink: OtlpSink): Promise<string> {
    const port = await freePort();
    const agent = agentOf(
      yaml
        .replace("      http:\n", `      http: { endpoint: "127.0.0.1:${port}" }\n`)
        .replace("https://backend.example:4318", sink.url)
        .replace("decision_wait: 10s", "decision_wait: 50ms")
        .replace(
          "service:\n",
          'extensions: { health_check: { endpoint: "127.0.0.1:0" }, admin: { endpoint: "127.0.0.1:0" } }\nservice:\n  extensions: [health_check, admin]\n',
        ),
    );
    await agent.start();
    stops.push(() => agent.stop());
    return `http://127.0.0.1:${port}`;
  }

  async function post(url: string, { bytes }: Batch): Promise<number> {
    const headers = { "content-type": "application/x-protobuf" };
    return (await fetch(url, { method: "POST", headers, body: Buffer.from(bytes) })).status;
  }

  it("shows samplers that keep what the page says", async () => {
    const sink = await startSink();
    stops.push(() => sink.close());
    const url = await start(examples[0]!, sink);
    const spans = spanBatch([
      { trace: traceId(1), name: "kept" },
      { trace: traceId(1), name: "error", error: true },
      { trace: traceId("dropped"), name: "dropped" },
    ]);
    const logs = logBatch([
      { severity: 17, id: "error" },
      { event: "audit.login", severity: 5, id: "audit" },
      { severity: 5, attributes: { order: { total: 2000 } }, id: "large" },
    ]);
    const answers = await Promise.all([post(`${url}/v1/traces`, spans), post(`${url}/v1/logs`, logs)]);
    expect(answers).toEqual([200, 200]);
    await expect.poll(() => sink.count).toBe(5);
    const found: string[] = [];
    for (const batch of sink.batches)
      readRecords(batch, (record) => {
        found.push(record.signal === "logs" ? String(record.body) : record.name);
      });
    expect(found.sort()).toEqual(["audit", "error", "error", "kept", "large"]);
  });

  it("refuses a sampler in a pipeline of metrics", () => {
    const yaml = whole(examples.find((example) => example.includes("remember_traces"))!).replace(
      "pipelines: { traces:",
      "pipelines: { metrics:",
    );
    expect(() => resolve(yaml)).toThrow(/metrics/);
  });
}
