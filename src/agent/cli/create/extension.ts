import type { Scaffold, ScaffoldFiles } from "./files.js";

/** Files of an extension that reports on queues and dead letters. */
export function extensionFiles({ type }: Scaffold): ScaffoldFiles {
  return { "src/index.ts": source(type), "test/index.test.ts": test(type), "example.yaml": example(type) };
}

const source = (type: string) => `import { defineExtension, duration } from "sluice/plugin";
import { z } from "zod";

/** The keys of this extension. Unknown keys are reported with line and column. */
const schema = z.strictObject({
  interval: duration().default(60_000).meta({ description: "Time between two reports." }),
});

export default defineExtension({
  type: "${type}",
  summary: "Reports at intervals what waits in the queues of exporters, and their dead letters.",
  schema,
  create({ interval }, { clock, host, logger }) {
    let cancelTimer = () => {};

    const plan = () => {
      cancelTimer = clock.after(interval, () => {
        report();
        plan();
      });
    };
    /** Notify another system here: a pager, a chat, a dashboard. */
    const report = () => {
      // Undefined while the agent starts.
      for (const { id, state, queue, deadLetters } of host.admin?.exporters() ?? []) {
        const facts = { exporter: id, state, waiting: queue.entries, dead_letters: deadLetters.entries };
        if (state === "UP" && deadLetters.entries === 0) logger.info(facts, "all is well");
        else logger.warn(facts, "an exporter needs attention");
      }
    };
    return {
      async start() {
        plan();
      },
      async stop() {
        cancelTimer();
      },
    };
  },
});
`;

const test = (type: string) => `import type { Logger } from "sluice/plugin";
import { faultyExporter, logs, runPipeline } from "sluice/testing";
import { describe, expect, it } from "vitest";
import plugin from "../src/index.js";

const config = \`
extensions:
  ${type}:
    interval: 5ms
exporters:
  faulty: {}
service:
  extensions: [${type}]
  pipelines:
    logs: {receivers: [memory], exporters: [faulty]}
\`;

const reports: object[] = [];
const keep = (fields: object) => void reports.push(fields);
const logger: Logger = { debug: () => {}, info: keep, warn: keep, error: keep, child: () => logger };

describe("${type}", () => {
  it("reports dead letters", async () => {
    const faulty = faultyExporter({ poison: (record) => record.attributes.has("bad") });
    const pipeline = await runPipeline(config, { plugins: [plugin, faulty], queue: "memory", logger });
    await expect.poll(() => reports).toContainEqual({ exporter: "faulty", state: "UP", waiting: 0, dead_letters: 0 });
    expect((await pipeline.send(logs({ body: "x", attributes: { bad: true } }))).ok).toBe(true);
    await expect.poll(() => reports.at(-1)).toMatchObject({ exporter: "faulty", dead_letters: 1 });
    await pipeline.stop();
  });

  it("reports a key that it does not know", async () => {
    const wrong = config.replace("interval:", "intervall:");
    await expect(runPipeline(wrong, { plugins: [plugin, faultyExporter()] })).rejects.toThrow("intervall");
  });
});
`;

const example = (type: string) => `# yaml-language-server: $schema=node_modules/sluice/dist/sluice.schema.json
# Takes OTLP on 127.0.0.1:4318 and prints it. Every ten seconds the log says how the exporter is.
plugins: [./dist/index.js]
receivers:
  otlp:
    protocols:
      http:
        endpoint: 127.0.0.1:4318
exporters:
  debug:
    verbosity: normal
extensions:
  ${type}:
    interval: 10s
service:
  extensions: [${type}]
  pipelines:
    logs:
      receivers: [otlp]
      exporters: [debug]
`;
