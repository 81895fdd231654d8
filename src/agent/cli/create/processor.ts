import type { Scaffold, ScaffoldFiles } from "./files.js";

/** Files of a processor that edits and drops records. */
export function processorFiles({ name, type }: Scaffold): ScaffoldFiles {
  return { "src/index.ts": source(name, type), "test/index.test.ts": test(type), "example.yaml": example(type) };
}

const source = (name: string, type: string) => `import { defineProcessor, eachRecord } from "sluice/plugin";
import { z } from "zod";

/** The keys of this processor. Unknown keys are reported with line and column. */
const schema = z.strictObject({
  attribute: z.string().default("processed.by").meta({ description: "The attribute that every record gets." }),
  value: z.string().default("${name}").meta({ description: "Its value." }),
  drop_if: z.string().optional().meta({ description: "Records with this attribute are dropped." }),
  min_severity: z.number().int().default(0).meta({ description: "Records of a lower severity are dropped." }),
});

export default defineProcessor({
  type: "${type}",
  summary: "Adds an attribute to every record, and drops some.",
  signals: ["logs"], // so every record is a log record; without it spans and data points come too
  schema,
  create: ({ attribute, value, drop_if, min_severity }) =>
    eachRecord((record) => {
      if (record.severityNumber < min_severity) return "drop";
      if (drop_if !== undefined && record.attributes.has(drop_if)) return "drop";
      record.attributes.set(attribute, value);
      return "keep";
    }),
});
`;

const test = (type: string) => `import { logs, processorConformance, runPipeline } from "sluice/testing";
import { describe, expect, it } from "vitest";
import plugin from "../src/index.js";

const config = \`
processors:
  ${type}:
    value: here
    drop_if: secret
service:
  pipelines:
    logs: {receivers: [memory], processors: [${type}], exporters: [memory]}
\`;

describe("${type}", () => {
  it("adds its attribute, and drops what it is told to", async () => {
    const pipeline = await runPipeline(config, { plugins: [plugin] });
    const outcome = await pipeline.send(logs("first", { body: "second", attributes: { secret: true } }));
    expect(outcome.ok).toBe(true);
    expect(pipeline.records()).toMatchObject([{ body: "first", attributes: { "processed.by": "here" } }]);
    await pipeline.stop();
  });

  it("reports a key that it does not know", async () => {
    const wrong = config.replace("value:", "valeu:");
    await expect(runPipeline(wrong, { plugins: [plugin] })).rejects.toThrow("valeu");
  });

  // Every processor must settle deliveries, drain, release what it holds, and keep the bytes that it does not change.
  for (const { name, run } of processorConformance(plugin)) it(name, run);
});
`;

const example = (type: string) => `# yaml-language-server: $schema=node_modules/sluice/dist/sluice.schema.json
# Takes OTLP on 127.0.0.1:4318, gives every record an attribute, and prints it.
plugins: [./dist/index.js]
receivers:
  otlp:
    protocols:
      http:
        endpoint: 127.0.0.1:4318
processors:
  ${type}:
    drop_if: secret
exporters:
  debug:
    verbosity: normal
service:
  pipelines:
    logs:
      receivers: [otlp]
      processors: [${type}]
      exporters: [debug]
`;
