import type { Scaffold, ScaffoldFiles } from "./files.js";

/** Files of a connector that copies some records to a pipeline of their own. */
export function connectorFiles({ type }: Scaffold): ScaffoldFiles {
  return { "src/index.ts": source(type), "test/index.test.ts": test(type), "example.yaml": example(type) };
}

const source = (
  type: string,
) => `import { type Delivery, defineConnector, editRecords, statefulProcessor } from "sluice/plugin";
import { z } from "zod";

/** The keys of this connector. Unknown keys are reported with line and column. */
const schema = z.strictObject({
  urgent: z.string().meta({ description: "The pipeline that gets a copy of urgent records." }),
  min_severity: z.number().int().default(17).meta({ description: "Records of this severity or above are urgent." }),
});

export default defineConnector({
  type: "${type}",
  summary: "Passes log records on, and copies urgent ones to a pipeline of their own.",
  routes: [{ from: "logs", to: "logs" }],
  schema,
  // A name that is wrong is then an error of the config, with its place.
  namedPipelines: ({ urgent }) => [{ pipeline: urgent, path: ["urgent"] }],
  create({ urgent, min_severity }, { targets }) {
    const others = targets.filter((id) => id !== urgent);
    const route = (delivery: Delivery): Delivery[] => {
      const urgentRecords = editRecords(delivery.batch, (record) =>
        record.signal === "logs" && record.severityNumber >= min_severity ? "keep" : "drop",
      );
      if (urgentRecords.count === 0) return [delivery.to(others)];
      // Both copies must be accepted before the sender gets its acknowledgement.
      const [all, copy] = delivery.copies(2) as [Delivery, Delivery];
      return [all.to(others), copy.with(urgentRecords).to([urgent])];
    };
    return statefulProcessor((out) => ({
      next(delivery) {
        for (const each of route(delivery)) out.next(each);
      },
    }));
  },
});
`;

const test = (type: string) => `import { faultyExporter, logs, runPipeline } from "sluice/testing";
import { describe, expect, it } from "vitest";
import plugin from "../src/index.js";

const config = \`
processors:
  attributes:
    actions: [{ key: copy, value: true, action: insert }]
connectors:
  ${type}:
    urgent: logs/urgent
exporters:
  faulty: {}
service:
  pipelines:
    logs: {receivers: [memory], exporters: [${type}]}
    logs/all: {receivers: [${type}], exporters: [memory]}
    logs/urgent: {receivers: [${type}], processors: [attributes], exporters: [memory, faulty]}
\`;

const fine = { body: "fine", severityNumber: 9 };
const bad = { body: "bad", severityNumber: 17 };

describe("${type}", () => {
  it("passes everything on, and copies urgent records", async () => {
    const pipeline = await runPipeline(config, { plugins: [plugin, faultyExporter()] });
    expect((await pipeline.send(logs(fine, bad))).ok).toBe(true);
    const records = pipeline.records();
    expect(records.filter(({ attributes }) => !attributes?.copy)).toMatchObject([{ body: "fine" }, { body: "bad" }]);
    expect(records.filter(({ attributes }) => attributes?.copy)).toMatchObject([{ body: "bad" }]);
    await pipeline.stop();
  });

  it("tells the sender when one of the pipelines has not taken the records", async () => {
    const faulty = faultyExporter({ poison: () => true });
    const pipeline = await runPipeline(config, { plugins: [plugin, faulty] });
    expect(await pipeline.send(logs(fine))).toMatchObject({ ok: true });
    expect(await pipeline.send(logs(bad))).toMatchObject({ ok: false });
    await pipeline.stop();
  });

  it("reports a pipeline that it does not feed", async () => {
    const wrong = config.replace("urgent: logs/urgent", "urgent: logs/urgnt");
    await expect(runPipeline(wrong, { plugins: [plugin, faultyExporter()] })).rejects.toThrow("logs/urgnt");
  });
});
`;

const example = (type: string) => `# yaml-language-server: $schema=node_modules/sluice/dist/sluice.schema.json
# Takes OTLP on 127.0.0.1:4318, prints a line for every record, and errors in detail too.
plugins: [./dist/index.js]
receivers:
  otlp:
    protocols:
      http:
        endpoint: 127.0.0.1:4318
connectors:
  ${type}:
    urgent: logs/urgent
exporters:
  debug:
    verbosity: normal
  debug/urgent:
    verbosity: detailed
service:
  pipelines:
    logs:
      receivers: [otlp]
      exporters: [${type}]
    logs/all:
      receivers: [${type}]
      exporters: [debug]
    logs/urgent:
      receivers: [${type}]
      exporters: [debug/urgent]
`;
