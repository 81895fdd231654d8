import type { Scaffold, ScaffoldFiles } from "./files.js";

/** Files of a receiver that polls at intervals. */
export function receiverFiles({ type }: Scaffold): ScaffoldFiles {
  return { "src/index.ts": source(type), "test/index.test.ts": test(type), "example.yaml": example(type) };
}

const source = (type: string) => `import { batchFromJson, defineReceiver, duration } from "sluice/plugin";
import { z } from "zod";

/** The keys of this receiver. Unknown keys are reported with line and column. */
const schema = z.strictObject({
  interval: duration().default(10_000).meta({ description: "Time between two records." }),
  message: z.string().default("still here").meta({ description: "Their body." }),
});

export default defineReceiver({
  type: "${type}",
  summary: "Makes a log record at intervals.",
  signals: ["logs"],
  schema,
  create({ interval, message }, { intakes, clock, logger }) {
    let cancelTimer = () => {};
    let working = Promise.resolve();
    let isStopped = false;

    const plan = () => {
      cancelTimer = clock.after(interval, () => {
        working = poll();
      });
    };
    const poll = async () => {
      // Resolves when every exporter has it, and never rejects.
      const outcome = await intakes.logs?.accept(readOnce(message, clock.now()));
      if (outcome?.ok === false) logger.warn({ err: outcome.refusal }, "a record was not taken");
      if (!isStopped) plan();
    };
    return {
      async start() {
        plan();
      },
      async stop() {
        isStopped = true;
        cancelTimer();
        await working;
      },
    };
  },
});

/** Ask your source here, and make OTLP of what it says. */
function readOnce(message: string, now: number) {
  const record = { timeUnixNano: \`\${now}000000\`, severityNumber: 9, body: { stringValue: message } };
  return batchFromJson("logs", JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords: [record] }] }] }));
}
`;

const test = (type: string) => `import { receiverConformance, runPipeline } from "sluice/testing";
import { describe, expect, it } from "vitest";
import plugin from "../src/index.js";

const config = \`
receivers:
  ${type}:
    interval: 5ms
    message: hello
service:
  pipelines:
    logs: {receivers: [${type}], exporters: [memory]}
\`;

describe("${type}", () => {
  it("makes records until it is stopped", async () => {
    const pipeline = await runPipeline(config, { plugins: [plugin] });
    await expect.poll(() => pipeline.records().length).toBeGreaterThan(1);
    expect(pipeline.records()[0]).toMatchObject({ body: "hello" });
    await pipeline.stop();
  });

  it("reports a key that it does not know", async () => {
    const wrong = config.replace("message:", "mesage:");
    await expect(runPipeline(wrong, { plugins: [plugin] })).rejects.toThrow("mesage");
  });

  // Every receiver must wait for answers when it is stopped, then accept nothing more, and be able to start again.
  for (const { name, run } of receiverConformance(plugin, { config: () => ({ interval: "5ms" }) })) it(name, run);
});
`;

const example = (type: string) => `# yaml-language-server: $schema=node_modules/sluice/dist/sluice.schema.json
# Makes a log record every second, and prints it.
plugins: [./dist/index.js]
receivers:
  ${type}:
    interval: 1s
exporters:
  debug:
    verbosity: normal
service:
  pipelines:
    logs:
      receivers: [${type}]
      exporters: [debug]
`;
