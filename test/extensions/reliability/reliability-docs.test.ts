import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { builtins } from "../../../src/runtime/builtins.js";
import { loadConfig } from "../../../src/runtime/config/load.js";
import { Registry } from "../../../src/runtime/registry.js";
import { startQueue } from "./queue.js";

const page = readFileSync("docs/reliability.md", "utf8");
const examples = [...page.matchAll(/^```yaml\n(.*?)^```$/gms)].map((match) => match[1]!);

/** What the examples leave out. */
const REST = `
receivers: {otlp: {protocols: {http: }}}
exporters: {otlp_http: {endpoint: "http://127.0.0.1:4318"}}
service: {pipelines: {logs: {receivers: [otlp], exporters: [otlp_http]}}}
`;

describe("docs/reliability.md", () => {
  it.each(examples)("shows a config that loads (%#)", (text) => {
    const sources = [REST, text].map((each, i) => ({ text: each, name: `${i}.yaml` }));
    const { problems } = loadConfig({ sources, registry: new Registry([...builtins]) });
    expect(problems).toEqual([]);
  });

  it("names every metric a queue has", async () => {
    const { metrics } = await startQueue();
    const missing = [...metrics.names]
      .map((name) => name.replace(/_(log_records|spans|metric_points)$/, "_{"))
      .filter((name) => !page.includes(name));
    expect(missing).toEqual([]);
  });
});
