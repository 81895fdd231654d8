/**
 * Tries the package as its users get it, on the Node.js that runs this: packs the checkout as it was built, installs the
 * tarball in an empty folder, imports every door, runs the agent and sends it a record. Fails if the folder has more
 * than 40 MB then. It needs the registry, or npm's cache.
 *
 *     node scripts/try-package.js
 */
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";

const MAX_BYTES = 40_000_000;
const LIMIT_MS = 60_000;
const root = dirname(import.meta.dirname);
const folder = mkdtempSync(join(tmpdir(), "sluice-try-"));
const npm = (cwd, ...args) =>
  execFileSync("npm", args, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });
const node = (...args) => execFileSync(process.execPath, args, { cwd: folder, encoding: "utf8" });

try {
  const [{ filename }] = JSON.parse(npm(root, "pack", "--json", "--ignore-scripts", "--pack-destination", folder));
  writeFileSync(join(folder, "package.json"), '{"private": true, "type": "module"}');
  npm(folder, "install", "--no-audit", "--no-fund", "--prefer-offline", `./${filename}`);
  const installed = join(folder, "node_modules", "sluice");
  const { exports, version } = JSON.parse(readFileSync(join(installed, "package.json"), "utf8"));
  for (const door of Object.keys(exports).filter((name) => !name.endsWith(".json")))
    node("--input-type=module", "-e", `await import(${JSON.stringify(join("sluice", door))})`);
  expect(node(join(installed, "bin/sluice.js"), "--version").includes(version), "the command says its version");
  await runAgent(join(installed, "bin/sluice.js"));
  const bytes = sizeOf(join(folder, "node_modules"));
  process.stdout.write(`Node.js ${process.version}: the package runs; with its packages it has ${megabytes(bytes)}\n`);
  expect(bytes < MAX_BYTES, `it has at most ${megabytes(MAX_BYTES)}`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** Runs the agent until a record that was sent to it is in a file. */
async function runAgent(program) {
  const config = {
    receivers: { otlp: { protocols: { http: { endpoint: "127.0.0.1:0" } } } },
    exporters: { file: { path: join(folder, "out.json") } },
    extensions: { admin: { endpoint: "127.0.0.1:0" }, health_check: { endpoint: "127.0.0.1:0" } },
    service: {
      telemetry: { metrics: { readers: [{ pull: { exporter: { prometheus: { host: "127.0.0.1", port: 0 } } } }] } },
      pipelines: { logs: { receivers: ["otlp"], exporters: ["file"] } },
    },
  };
  writeFileSync(join(folder, "sluice.yaml"), JSON.stringify(config));
  const agent = spawn(process.execPath, [program, "run"], { cwd: folder, stdio: ["ignore", "ignore", "pipe"] });
  const exited = new Promise((resolve) => agent.once("exit", resolve));
  let log = "";
  agent.stderr.setEncoding("utf8").on("data", (text) => (log += text));
  const limit = setTimeout(() => agent.kill("SIGKILL"), LIMIT_MS);
  const seen = async (pattern) => {
    for (;;) {
      const found = pattern.exec(log);
      if (found !== null) return found[1];
      expect(agent.exitCode === null && agent.signalCode === null, `the agent runs:\n${log}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  };
  const address = await seen(/"http":"(127\.0\.0\.1:\d+)","msg":"listening for OTLP"/);
  await seen(/"msg":"(ready)"/);
  const metrics = await fetch(await seen(/"url":"(http:[^"]+)","msg":"metrics for Prometheus"/));
  expect((await metrics.text()).includes("otelcol_process_uptime"), "it has metrics of its own");
  const logRecords = [{ body: { stringValue: "order paid" } }];
  const response = await fetch(`http://${address}/v1/logs`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] }),
  });
  expect(response.status === 200, "the agent takes a record");
  agent.kill("SIGTERM");
  expect((await exited) === 0, `the agent stops in order:\n${log}`);
  clearTimeout(limit);
  expect(readFileSync(join(folder, "out.json"), "utf8").includes("order paid"), "the record is in the file");
}

function expect(isTrue, claim) {
  if (!isTrue) throw new Error(`does not hold: ${claim}`);
}

/** The bytes of all files, as `du --apparent-size` counts them. */
function sizeOf(path) {
  const files = readdirSync(path, { recursive: true, encoding: "utf8" }).map((name) => statSync(join(path, name)));
  return files.filter((file) => file.isFile()).reduce((sum, { size }) => sum + size, 0);
}

function megabytes(bytes) {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}
