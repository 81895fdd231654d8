import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { setTimeout as delay } from "node:timers/promises";
import { waitOpen } from "../lib/processes/ports.js";
import { entered, FILTER } from "./entered.js";

/**
 * Runs an agent in this process, and sends its parent what a reload enters that exchanges a processor. The parent ends
 * it.
 */
const RELOAD_MS = 1500;
const [, , httpPort = "", healthPort = ""] = process.argv;
const folder = mkdtempSync(join(tmpdir(), "sluice-way-"));
const file = join(folder, "sluice.yaml");
const loopback = (/** @type {string} */ port) => `127.0.0.1:${port}`;

/** @param {string} tenant */
function write(tenant) {
  const config = {
    extensions: { health_check: { endpoint: loopback(healthPort) } },
    receivers: { otlp: { protocols: { http: { endpoint: loopback(httpPort) } } } },
    processors: { filter: JSON.parse(JSON.stringify(FILTER).replace("nobody", tenant)) },
    exporters: { nop: {} },
    service: {
      extensions: ["health_check"],
      pipelines: { logs: { receivers: ["otlp"], processors: ["filter"], exporters: ["nop"] } },
      telemetry: { logs: { level: "error" }, metrics: { level: "none" } },
    },
  };
  writeFileSync(file, JSON.stringify(config));
}

let count = 0;
write("nobody");
process.argv = [process.argv[0] ?? "", "sluice", "run", "--config", file];
const { runProcess } = await import("../../dist/agent/cli/process/run-process.js");
void runProcess(process);
if (!(await waitOpen(Number(httpPort), () => true))) throw new Error("the agent does not start");
const way = await entered(async () => {
  write(`nobody-${count++}`);
  process.emit("SIGHUP", "SIGHUP");
  await delay(RELOAD_MS);
});
process.send?.(way);
