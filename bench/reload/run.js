/**
 * Measures how much a reload delays answers, for an agent with 30 components when one changes. Windows with reloads and
 * windows without take turns, so that whatever else the machine does is in both.
 *
 *     node bench/reload/run.js [--windows 10] [--seconds 3] [--clients 8]
 */
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { Agent, createServer, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";

const { values } = parseArgs({
  options: {
    windows: { type: "string", default: "10" },
    seconds: { type: "string", default: "3" },
    clients: { type: "string", default: "8" },
  },
});
const [windows, seconds, clients] = [values.windows, values.seconds, values.clients].map(Number);
const PROCESSORS = 26; // with a receiver, an exporter and two extensions: 30 components
const folder = mkdtempSync(join(tmpdir(), "sluice-reload-bench-"));
const file = join(folder, "config.yaml");

const backend = createServer((incoming, answer) => {
  incoming.resume();
  incoming.on("end", () => answer.writeHead(200, { "content-type": "application/x-protobuf" }).end());
});
await new Promise((ready) => backend.listen(0, "127.0.0.1", ready));
const [otlp, admin] = await Promise.all([freePort(), freePort()]);

function writeConfig(note) {
  const ids = Array.from({ length: PROCESSORS }, (_, i) => `attributes/${i}`);
  const processor = (id, i) => `  ${id}: {actions: [{key: k${i}, value: "${i === 7 ? note : i}", action: upsert}]}`;
  writeFileSync(
    file,
    `
receivers: {otlp: {protocols: {http: {endpoint: "127.0.0.1:${otlp}"}}}}
processors:
${ids.map(processor).join("\n")}
exporters: {otlp_http: {endpoint: "http://127.0.0.1:${backend.address().port}"}}
extensions:
  admin: {endpoint: "127.0.0.1:${admin}", token_file: ${JSON.stringify(join(folder, "token"))}}
  reliability: {directory: ${JSON.stringify(join(folder, "queue"))}, durability: process}
service:
  extensions: [admin, reliability]
  telemetry: {metrics: {level: none}}
  pipelines: {logs: {receivers: [otlp], processors: [${ids.join(", ")}], exporters: [otlp_http]}}
`,
  );
}

writeConfig("first");
const sluice = join(import.meta.dirname, "../../bin/sluice.js");
const agent = spawn(process.execPath, [sluice, "run", "--config", file], { cwd: folder });
let log = "";
agent.stderr.setEncoding("utf8").on("data", (text) => {
  log += text;
});
await until(() => log.includes('"msg":"ready"'));

const body = JSON.stringify({
  resourceLogs: [
    { scopeLogs: [{ logRecords: Array.from({ length: 10 }, (_, i) => ({ body: { stringValue: `r${i}` } })) }] },
  ],
});
const delays = { still: [], reloading: [] };
let kind = "warm-up";
let isStopped = false;
const loops = Array.from({ length: clients }, async () => {
  const kept = new Agent({ keepAlive: true, maxSockets: 1 });
  while (!isStopped) {
    const [asked, at] = [kind, performance.now()];
    await post(kept);
    delays[asked]?.push(performance.now() - at);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  kept.destroy();
});

await sleep(3000);
let reloads = 0;
for (let i = 0; i < 2 * windows; i++) {
  kind = i % 2 === 0 ? "still" : "reloading";
  const end = performance.now() + seconds * 1000;
  while (performance.now() < end) {
    if (kind === "reloading") {
      writeConfig(`note ${reloads++}`);
      agent.kill("SIGHUP");
      await until(() => (log.match(/"config reloaded"/g) ?? []).length >= reloads);
    }
    await sleep(200);
  }
}
isStopped = true;
await Promise.all(loops);
agent.kill("SIGTERM");
await new Promise((exited) => agent.once("exit", exited));
backend.close();
rmSync(folder, { recursive: true, force: true });

const figures = Object.fromEntries(Object.entries(delays).map(([name, all]) => [name, quantiles(all)]));
const added = figures.reloading.p99 - figures.still.p99;
console.log(
  JSON.stringify({ reloads, components: PROCESSORS + 4, ...figures, addedAtP99: round(added) }, undefined, 2),
);

function quantiles(all) {
  const sorted = all.toSorted((a, b) => a - b);
  const at = (share) => round(sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]);
  return { answers: sorted.length, p50: at(0.5), p90: at(0.9), p99: at(0.99), max: round(sorted.at(-1)) };
}

function round(ms) {
  return Math.round(ms * 100) / 100;
}

function post(kept) {
  const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
  return new Promise((answered, failed) => {
    const options = { agent: kept, host: "127.0.0.1", port: otlp, path: "/v1/logs", method: "POST", headers };
    const sending = request(options, (response) => {
      if (response.statusCode !== 200) failed(new Error(`answer ${response.statusCode}`));
      response.resume().on("end", answered);
    });
    sending.on("error", failed).end(body);
  });
}

async function freePort() {
  const server = createServer();
  await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
  const { port } = server.address();
  await new Promise((closed) => server.close(closed));
  return port;
}

async function until(condition) {
  while (!condition()) await sleep(5);
}

function sleep(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
