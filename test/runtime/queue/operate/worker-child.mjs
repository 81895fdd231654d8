// A worker whose receiver is the test: takes messages {id, send} over IPC, and answers {id, ok}. Its exporter appends
// the bodies that it takes to a file. It refuses while there is no file `up`, and kills the process for the body
// `poison`; so does the processor, for `poison processor`.

import { appendFileSync, existsSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { reliability } from "../../../../dist/extensions/reliability/component.js";
import {
  batchFromJson,
  defineExporter,
  defineProcessor,
  defineReceiver,
  eachBatch,
  Refusal,
  readRecords,
} from "../../../../dist/plugin.js";
import { loadConfig } from "../../../../dist/runtime/config/load.js";
import { Registry } from "../../../../dist/runtime/config/resolve/registry.js";
import { noMetrics } from "../../../../dist/runtime/contract/observability.js";
import { Agent } from "../../../../dist/runtime/host/agent.js";

const { folder, worker, journal = "off" } = JSON.parse(process.argv[2]);
const signals = ["logs"];
const schema = z.strictObject({});
let intake;

const hand = defineReceiver({
  ...{ type: "hand", summary: "test", signals, schema },
  create: (_config, { intakes }) => {
    intake = intakes.logs;
    return { start: async () => {}, stop: async () => {} };
  },
});

function logs(bodies) {
  const logRecords = bodies.map((body) => ({ body: { stringValue: body } }));
  return batchFromJson("logs", JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] }));
}

function bodies(batch) {
  const found = [];
  readRecords(batch, (record) => void found.push(String(record.body)));
  return found;
}

function die(how) {
  if (how === "hangs") for (;;);
  process.abort();
}

const file = defineExporter({
  ...{ type: "file", summary: "test", signals, schema },
  create: () => ({
    start: async () => {},
    stop: async () => {},
    async send(batch) {
      if (bodies(batch).includes("poison")) die();
      if (!existsSync(join(folder, "up"))) throw Object.assign(new Error("down"), { code: "ECONNREFUSED" });
      appendFileSync(
        join(folder, "taken"),
        bodies(batch)
          .map((body) => `${body}\n`)
          .join(""),
      );
    },
  }),
});

const fatal = defineProcessor({
  ...{ type: "fatal", summary: "test", signals, schema },
  create: () =>
    eachBatch((batch) => {
      if (bodies(batch).includes("poison processor")) die();
      if (bodies(batch).includes("endless processor")) die("hangs");
      if (!existsSync(join(folder, "open"))) throw new Refusal("transient", "closed");
      return batch;
    }),
});

const text = `
receivers: {hand: {}}
processors: {fatal: {}}
exporters: {file: {retry_on_failure: {initial_interval: 10ms, max_interval: 20ms}}}
extensions: {reliability: {directory: ${JSON.stringify(join(folder, "queue"))}, durability: process}}
service:
  extensions: [reliability]
  pipelines:
    logs: {receivers: [hand], processors: [${journal === "on" ? "fatal" : ""}], exporters: [file], intake: {durable: ${journal}}}
`;
const registry = new Registry([reliability, hand, file, fatal]);
const { config, problems } = loadConfig({ sources: [{ text, name: "test.yaml" }], registry });
if (config === undefined) throw new Error(JSON.stringify(problems));
const line = (level) => (fields, message) => process.stdout.write(`${JSON.stringify({ level, ...fields, message })}\n`);
const logger = { debug() {}, info: line("info"), warn: line("warn"), error: line("error"), child: () => logger };
const agent = new Agent(config, { logger, metrics: noMetrics, worker }, async () => (batch) => batch);
await agent.start();
process.on("message", async ({ id, send, admin, stop }) => {
  if (send !== undefined) process.send({ id, result: (await intake.accept(logs(send))).ok });
  else if (admin === "status") process.send({ id, result: agent.admin.exporters() });
  else if (admin === "dead") process.send({ id, result: (await agent.admin.listDeadLetters({})).entries });
  else if (stop) await agent.stop(0).then(() => process.exit(0));
});
process.send({ id: "ready" });
