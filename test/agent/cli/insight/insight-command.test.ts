import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type AgentProcess, startAgentProcess } from "../../../support/agent-process.js";
import { temporaryFolder } from "../../../support/temporary-folder.js";
import { sluice } from "../dlq/support.js";

const YAML = `
receivers: {otlp: {protocols: {http: {endpoint: 127.0.0.1:0}}}}
processors: {batch: }
exporters: {nop: }
extensions:
  reliability: {directory: queue}
  admin: {endpoint: 127.0.0.1:0}
  insight: {sampling_ratio: 1, price: {nop: {per_gb: 1000}}}
service:
  workers: 2
  extensions: [reliability, admin, insight]
  telemetry: {metrics: {level: none}}
  pipelines:
    logs: {receivers: [otlp], processors: [batch], exporters: [nop]}
    metrics: {receivers: [otlp], exporters: [nop]}
`;

let agent: AgentProcess;
let api: string[];

beforeAll(async () => {
  agent = await startAgentProcess({ yaml: YAML });
  const [, endpoint] = /"endpoint":"([^"]+)","msg":"admin API is listening"/.exec(agent.output.stderr)!;
  api = ["--api", `http://${endpoint}`];
  const pair = (key: string, stringValue: string) => ({ key, value: { stringValue } });
  const resource = { attributes: [pair("service.name", "shop")] };
  const record = (i: number) => ({
    severityNumber: 9,
    body: { stringValue: `user ${i} logged in` },
    attributes: [pair("agent", "x")],
  });
  const points = Array.from({ length: 50 }, (_, i) => ({
    asInt: "1",
    timeUnixNano: "1",
    attributes: [pair("user", `u${i}`), pair("method", "GET")],
  }));
  // Each request may come to another worker.
  for (let i = 0; i < 20; i++)
    await send("logs", { resourceLogs: [{ resource, scopeLogs: [{ logRecords: [record(i)] }] }] });
  await send("metrics", {
    resourceMetrics: [{ resource, scopeMetrics: [{ metrics: [{ name: "hits", gauge: { dataPoints: points } }] }] }],
  });
});

afterAll(async () => {
  agent.child.kill("SIGKILL");
  await agent.exited;
});

async function send(signal: string, json: unknown): Promise<void> {
  const headers = { "content-type": "application/json", connection: "close" };
  const url = `http://127.0.0.1:${agent.ports.http}/v1/${signal}`;
  expect((await fetch(url, { method: "POST", headers, body: JSON.stringify(json) })).status).toBe(200);
}

const insight = (...args: string[]) => sluice(["insight", ...args, ...api]);

describe("sluice insight", () => {
  it("shows the services of all workers together, with money per day", async () => {
    const { code, out } = await insight("--signal", "logs");
    expect([code, out]).toEqual([
      0,
      expect.stringMatching(/^service at exporters, last .*: 20 records, .* per day; read 100% of the batches$/m),
    ]);
    expect(out).toMatch(/^SERVICE +SIGNAL +RECORDS +BYTES +\+- +SHARE +PER DAY +NOW +LAST HOUR$/m);
    expect(out).toMatch(/^shop +logs +20 +[\d.]+ \w+ +0% +\d+% /m);
  });

  it("says in JSON what the API says", async () => {
    const { rows, by } = JSON.parse((await insight("--by", "pattern", "--limit", "1", "--json")).out);
    expect(by).toBe("pattern");
    expect(rows).toMatchObject([{ name: "user <*> logged in", records: 20 }]);
  });

  it("names the label that makes a metric have many series", async () => {
    expect((await insight("--by", "cardinality")).out).toMatch(/^hits +metrics +50 .* user: 1 /m);
  });

  it("explains wrong arguments", async () => {
    expect((await insight("cat")).code).toBe(2);
    expect((await insight("--by", "colour")).err).toContain("by must be one of: service");
    expect((await insight("cut", "drop", "--by", "service", "--name", "nobody")).err).toContain("there is no such row");
  });
});

describe("sluice insight cut", () => {
  it.each([
    ["drop", ["--by", "service", "--name", "shop", "--signal", "logs"]],
    ["drop", ["--by", "pattern", "--name", "user <*> logged in"]],
    ["sample", ["--by", "pattern", "--name", "user <*> logged in", "--n", "4"]],
    ["dedup", ["--by", "service", "--name", "shop", "--signal", "logs"]],
    ["remove_attribute", ["--by", "attribute", "--name", "agent"]],
    ["aggregate_label", ["--by", "cardinality", "--name", "hits", "--label", "user"]],
  ])("%s writes a config file that is valid after the present one", async (action, args) => {
    const folder = temporaryFolder();
    const [base, file] = [join(folder, "base.yaml"), join(folder, "cut.yaml")];
    writeFileSync(base, YAML);
    const { code, out } = await insight("cut", action, ...args, "--save", file);
    expect([code, out]).toEqual([0, expect.stringMatching(/^\+ .*/m)]);
    expect(out).toContain(`Written to ${file}`);
    expect(out).toMatch(action === "dedup" ? /rehearse it/ : /^Estimate: saves about /m);
    const checked = await sluice(["validate", "--config", base, "--config", file]);
    expect([checked.code, checked.err]).toEqual([0, expect.any(String)]);
    if (action === "drop" && args.includes("logs"))
      expect(readFileSync(file, "utf8")).toContain("filter/cut_shop\n        - batch");
  });

  it("changes nothing without --save, and overwrites no file", async () => {
    const file = join(temporaryFolder(), "cut.yaml");
    const args = ["cut", "drop", "--by", "service", "--name", "shop", "--signal", "logs"];
    expect((await insight(...args)).out).toContain("Nothing was changed");
    expect(existsSync(file)).toBe(false);
    writeFileSync(file, "mine");
    expect((await insight(...args, "--save", file)).code).not.toBe(0);
    expect(readFileSync(file, "utf8")).toBe("mine");
  });
});
