import { mkdtemp, rm } from "node:fs/promises";
import { createServer, request } from "node:http";
import inspector from "node:inspector/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { setTimeout as delay } from "node:timers/promises";

/**
 * Which files of the compiled agent one OTLP/HTTP request enters, after a warm-up: `node bench/files-per-request.js`.
 * V8 counts the calls of every function (precise coverage) while the request passes through; a file counts if one of
 * its functions ran in every one of ROUNDS requests, so that timers of the background do not. `--list` prints the files.
 */

const WARM_UP = 200;
const ROUNDS = 5;
/** Longer than it takes until an entry has left its queue, so that this is counted too. */
const SETTLE_MS = 300;

const PROCESSORS = `
processors:
  filter: {error_mode: ignore, logs: {log_record: ['severity_number < 1']}}
  transform: {error_mode: ignore, log_statements: [{context: log, statements: ['set(attributes["seen"], true)']}]}`;
const SHAPES = {
  direct: { queue: false, processors: [] },
  durable: { queue: true, processors: [] },
  "durable, filter, transform": { queue: true, processors: ["filter", "transform"] },
};

const { Agent } = await import("../dist/runtime/host/agent.js");
const { createSelfTelemetry } = await import("../dist/runtime/host/self-telemetry/self-telemetry.js");
const { loadConfigWithPlugins } = await import("../dist/runtime/host/plugins/load-config-with-plugins.js");
const { Registry } = await import("../dist/runtime/config/resolve/registry.js");
const { builtins } = await import("../dist/agent/builtins/builtins.js");
const { loadedMask } = await import("../dist/agent/mask-batch.js");
const { batchFromJson } = await import("../dist/runtime/otlp/json/batch-json.js");

/** One record in protobuf. */
const record = { timeUnixNano: "1", severityNumber: 9, body: { stringValue: "hello" } };
const tree = { resourceLogs: [{ scopeLogs: [{ logRecords: [record] }] }] };
const body = Buffer.from(batchFromJson("logs", JSON.stringify(tree)).bytes);

const session = new inspector.Session();
session.connect();
await session.post("Profiler.enable");
await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
for (const [name, shape] of Object.entries(SHAPES)) {
  const files = await filesOfRequest(shape);
  process.stdout.write(`${String(files.length).padStart(4)}  ${name}\n`);
  if (process.argv.includes("--list")) for (const file of files) process.stdout.write(`        ${file}\n`);
}
process.exit(0);

/** @param {{ queue: boolean, processors: readonly string[] }} shape @returns {Promise<string[]>} */
async function filesOfRequest({ queue, processors }) {
  const backend = createServer((incoming, answer) => {
    incoming.resume().on("end", () => answer.end());
  });
  await new Promise((resolve) => backend.listen(0, "127.0.0.1", () => resolve(undefined)));
  const directory = await mkdtemp(join(tmpdir(), "files-per-request-"));
  const port = await freePort();
  const text = `receivers: {otlp: {protocols: {http: {endpoint: "127.0.0.1:${port}"}}}}
${PROCESSORS}
exporters:
  otlp_http:
    endpoint: http://127.0.0.1:${/** @type {any} */ (backend.address()).port}
    compression: none
    sending_queue: {enabled: ${queue}}
extensions: {reliability: {directory: ${JSON.stringify(directory)}}}
service:
  telemetry: {metrics: {level: none}, logs: {level: error}}
  pipelines: {logs: {receivers: [otlp], processors: [${processors.join(", ")}], exporters: [otlp_http]}}
`;
  const registry = new Registry(await builtins());
  const loaded = await loadConfigWithPlugins({ sources: [{ text, name: "bench.yaml" }], registry, addDefaults: true });
  if (loaded.config === undefined) throw new Error(loaded.problems.map((each) => each.message).join("\n"));
  const telemetry = createSelfTelemetry(loaded.config, { stderr: process.stderr, isTerminal: false });
  const agent = new Agent(loaded.config, telemetry, loadedMask);
  await agent.start();
  for (let i = 0; i < WARM_UP; i++) await send(port);
  const rounds = [];
  for (let i = 0; i < ROUNDS; i++) rounds.push(await entered(() => send(port)));
  await agent.stop(1000);
  await telemetry.stop();
  backend.close();
  backend.closeAllConnections();
  await rm(directory, { recursive: true, force: true });
  return [...rounds[0]].filter((file) => rounds.every((each) => each.has(file))).sort();
}

/** The files of the agent with a function that ran meanwhile. @param {() => Promise<void>} work */
async function entered(work) {
  await delay(SETTLE_MS);
  await session.post("Profiler.takePreciseCoverage"); // sets the counts back
  await work();
  await delay(SETTLE_MS);
  const { result } = await session.post("Profiler.takePreciseCoverage");
  const ran = result.filter(({ functions }) => functions.some(({ ranges }) => ranges[0].count > 0));
  return new Set(
    ran.flatMap(({ url }) => (url.includes("/node_modules/") ? [] : (/\/dist\/(.*)\.js$/.exec(url)?.[1] ?? []))),
  );
}

/** Sends over a kept-alive connection. @param {number} port @returns {Promise<void>} */
function send(port) {
  const headers = { "content-type": "application/x-protobuf", "content-length": body.length };
  return new Promise((resolve, reject) => {
    const sent = request({ host: "127.0.0.1", port, method: "POST", path: "/v1/logs", headers }, (answer) => {
      if (answer.statusCode !== 200) reject(new Error(`the agent answers ${answer.statusCode}`));
      answer.resume().on("end", () => resolve(undefined));
    });
    sent.on("error", reject).end(body);
  });
}

/** @returns {Promise<number>} */
async function freePort() {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(undefined)));
  const { port } = /** @type {any} */ (server.address());
  await new Promise((resolve) => server.close(resolve));
  return port;
}
