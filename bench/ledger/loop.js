import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { measure, recordProblems } from "../lib/measure.js";
import { freePort } from "../lib/processes/ports.js";
import { sluiceConfig } from "../lib/sluice-config.js";
import { startMeteredAgent } from "./exact.js";
import { placeOf } from "./place.js";
import { figureOf, reloader } from "./ratios.js";

/** The longest delay of the agent's event loop under load, in milliseconds: the median of some turns. */
const TURNS = 9;
const TURN_SECONDS = 2;
const SETTLE_SECONDS = 20;
const SLUICE = new URL("../../bin/sluice.js", import.meta.url);
const METER = new URL("serve-meter.js", import.meta.url).href;

/** @param {import("./cells.js").LoadCell} cell @param {import("./ratios.js").Surroundings} surroundings @returns {Promise<import("./compare.js").Measured[]>} */
export async function measureLoop(cell, { roles, sink }) {
  const { name, records, clients, encoding = "proto", signal = "logs", reloads } = cell;
  const folder = await mkdtemp(join(tmpdir(), "sluice-ledger-"));
  const ports = { http: await freePort(), grpc: await freePort(), health: await freePort(), sink };
  await writeFile(join(folder, "sluice.yaml"), sluiceConfig({ ...placeOf(cell), ports, signal, encoding, folder }));
  const agent = await startMeteredAgent(SLUICE, { folder, port: ports.http, execArgv: ["--import", METER] });
  const reloading = reloads && reloader(join(folder, "sluice.yaml"), () => process.kill(agent.pid, "SIGHUP"));
  const subject = { port: ports.http, usage: async () => undefined };
  const delays = [];
  try {
    for (let i = 0; i <= TURNS; i++) {
      reloading?.start();
      await agent.call("begin", "loop");
      const load = { signal, encoding, records, concurrency: clients, settle: SETTLE_SECONDS, seconds: TURN_SECONDS };
      const problems = recordProblems(name, await measure(roles, /** @type {any} */ (subject), load));
      if (i > 0) delays.push(await agent.call("end", "loop")); // the first turn warms up
      await reloading?.stop();
      if (problems.length > 0) throw new Error(problems.join("; "));
    }
    return figureOf(name, "loop", delays);
  } finally {
    await agent.stop();
    await rm(folder, { recursive: true, force: true });
  }
}
