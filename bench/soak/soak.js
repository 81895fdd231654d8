import { openSync, readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { freePort, waitOpen } from "../lib/processes/ports.js";
import { startRole } from "../lib/processes/role.js";
import { soakConfig } from "./parts.js";
import { reloadedConfig } from "./reloads.js";

/**
 * One soak: an agent with these parts under load, with its backends failing in cycles and its live bytes sampled.
 *
 * @typedef {{ at: number, mood: string, waiting: number } & import("./live-bytes.js").LiveBytes} Sample
 *   at: seconds since the load began; waiting: bytes in the queues of all exporters
 * @typedef {{ samples: Sample[], sent: number, requests: number, reloads: number, cpu: number }} Run
 *   reloads: those that replaced something; cpu: of one core, on average
 * @typedef {{ parts: readonly string[], seconds: number, rate: number, cycleSeconds: number, sampleSeconds: number,
 *   warmupSeconds: number, reloads: number, asShipped: boolean, imports: readonly string[],
 *   snapshots: string | undefined }} Plan reloads: in each cycle
 */
const HERE = import.meta.url;
const SLUICE = new URL("../../bin/sluice.js", HERE);
const READY_MS = 30_000;
/**
 * Shares of a cycle. The rest of it is calm, so that the backlog is gone when it ends.
 * @type {[share: number, mood: string][]}
 */
const OUTAGES = [
  [0.2, "ok"],
  [0.15, "down"],
  [0.1, "unavailable"],
  [0.1, "slow"],
  [0.05, "broken"],
];

/** @param {Plan} plan @param {(sample: Sample) => void} progress @returns {Promise<Run>} */
export async function soak(plan, progress) {
  const folder = await mkdtemp(join(tmpdir(), "sluice-soak-"));
  const backends = startRole(new URL("./backends.js", HERE));
  const clients = startRole(new URL("./clients.js", HERE));
  /** @type {import("../lib/processes/role.js").Role | undefined} */
  let agent;
  try {
    const refuseBadRecords = plan.parts.includes("dead_letters");
    const ports = { ...(await choosePorts()), ...(await backends.call("listen", { refuseBadRecords })) };
    const config = soakConfig(plan.parts, ports, folder, plan.asShipped);
    agent = await startAgent(plan, ports, folder, config);
    await clients.call("start", { http: ports.http, grpc: ports.grpc, rate: plan.rate });
    const ended = new AbortController();
    const call = operatorCalls(ports.admin, tokenFile(folder));
    const [samples, reloads] = await Promise.all([
      watch(plan, { agent, backends, clients, ports }, progress).finally(() => ended.abort()),
      reloadAgain(plan, { file: configFile(folder), config, call }, ended.signal),
      lookAround(plan, ports, call, ended.signal),
    ]);
    const { requests } = await backends.call("counts");
    return { samples, sent: await clients.call("sent"), requests, reloads, cpu: cpuOf(samples) };
  } catch (error) {
    throw new Error(`the soak has ended: ${error}\n${readFileSync(join(folder, "agent.log"), "utf8").slice(-4000)}`);
  } finally {
    await Promise.all([clients.stop(), agent?.stop(), backends.stop()]);
    await rm(folder, { recursive: true, force: true });
  }
}

const configFile = (/** @type {string} */ folder) => join(folder, "sluice.json");
const tokenFile = (/** @type {string} */ folder) => join(folder, "token");

async function choosePorts() {
  const names = ["http", "grpc", "again", "admin", "health", "prometheus"];
  return Object.fromEntries(await Promise.all(names.map(async (name) => [name, await freePort()])));
}

/** @param {Plan} plan @param {any} ports @param {string} folder @param {object} config */
async function startAgent(plan, ports, folder, config) {
  const file = configFile(folder);
  await writeFile(file, JSON.stringify(config));
  const modules = [new URL("./live-bytes.js", HERE).href, ...plan.imports];
  const agent = startRole(SLUICE, {
    args: ["run", "--config", file],
    execArgv: ["--expose-gc", ...modules.flatMap((each) => ["--import", each])],
    output: openSync(join(folder, "agent.log"), "a"),
  });
  const until = performance.now() + READY_MS;
  if (!(await waitOpen(ports.http, () => agent.isRunning() && performance.now() < until, 50)))
    throw new Error("the agent did not start");
  return agent;
}

/**
 * If the machine is too busy to take a sample in time, the next one comes later; the run does not take longer.
 *
 * @param {Plan} plan @param {{ agent: import("../lib/processes/role.js").Role,
 *   backends: import("../lib/processes/role.js").Role, clients: import("../lib/processes/role.js").Role, ports: any }} roles
 * @param {(sample: Sample) => void} progress
 */
async function watch(plan, { agent, backends, clients, ports }, progress) {
  /** @type {Sample[]} */
  const samples = [];
  const began = performance.now();
  const elapsed = () => (performance.now() - began) / 1000;
  const snapshotsAt = [plan.warmupSeconds, plan.seconds - plan.sampleSeconds];
  let mood = "ok";
  while (elapsed() < plan.seconds) {
    const wanted = moodAt(elapsed(), plan.cycleSeconds);
    if (wanted !== mood) await backends.call("mood", (mood = wanted));
    await delay((plan.sampleSeconds - (elapsed() % plan.sampleSeconds)) * 1000);
    if (!clients.isRunning()) throw new Error("the clients have ended");
    const waiting = await waitingBytes(ports.health);
    const sample = { at: elapsed(), mood, waiting, ...(await agent.call("liveBytes")) };
    samples.push(sample);
    progress(sample);
    if (plan.snapshots !== undefined && sample.at >= (snapshotsAt[0] ?? Number.POSITIVE_INFINITY)) {
      snapshotsAt.shift();
      await agent.call("heapSnapshot", join(plan.snapshots, `agent-${Math.round(sample.at)}.heapsnapshot`));
    }
  }
  return samples;
}

/**
 * Read from the agent's health check; infinite when it does not respond.
 * @param {number} port @returns {Promise<number>}
 */
async function waitingBytes(port) {
  try {
    const signal = AbortSignal.timeout(10_000);
    const answer = await (await fetch(`http://127.0.0.1:${port}/healthz/exporters`, { signal })).json();
    const { exporters } = /** @type {{ exporters: Record<string, { queue?: { bytes: number } }> }} */ (answer);
    return Object.values(exporters).reduce((sum, { queue }) => sum + (queue?.bytes ?? 0), 0);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

function moodAt(/** @type {number} */ seconds, /** @type {number} */ cycleSeconds) {
  let place = (seconds % cycleSeconds) / cycleSeconds;
  for (const [share, mood] of OUTAGES) if ((place -= share) < 0) return mood;
  return "ok";
}

/** @typedef {(path: string, init?: RequestInit) => Promise<Response>} Call to the admin API, with the owner's token */

/** The token is read for each call, because a reload of the extension makes a new one. @returns {Call} */
function operatorCalls(/** @type {number} */ port, /** @type {string} */ file) {
  return async (path, init) => {
    const authorization = `Bearer ${readFileSync(file, "utf8").trim()}`;
    const headers = { authorization, "content-type": "application/json" };
    return fetch(`http://127.0.0.1:${port}/api/v1/${path}`, { ...init, headers });
  };
}

/**
 * Returns how many reloads have replaced what they were to change. The agent rolls one back if a part does not end in
 * time, which happens on a busy machine.
 *
 * @param {Plan} plan @param {{ file: string, config: object, call: Call }} agent @param {AbortSignal} ended
 */
async function reloadAgain({ cycleSeconds, reloads }, { file, config, call }, ended) {
  const request = { method: "POST", body: "{}", signal: ended };
  let applied = 0;
  for (let n = 1; reloads > 0; n++) {
    await delay((cycleSeconds / reloads) * 1000, undefined, { signal: ended }).catch(() => {});
    if (ended.aborted) break;
    await writeFile(file, JSON.stringify(reloadedConfig(config, n)));
    const { outcome } = await call("config/reload", request).then(
      async (answer) => /** @type {{ outcome: string }} */ (await answer.json()),
      () => ({ outcome: "not answered" }),
    );
    if (outcome === "applied") applied++;
  }
  return applied;
}

/**
 * Sends the requests of an open console and of Prometheus.
 *
 * @param {Plan} plan @param {any} ports @param {Call} call @param {AbortSignal} ended
 */
async function lookAround(plan, ports, call, ended) {
  const hasAdmin = plan.parts.includes("admin");
  while (!ended.aborted) {
    const limit = AbortSignal.timeout(10_000);
    if (plan.parts.includes("prometheus"))
      await read(fetch(`http://127.0.0.1:${ports.prometheus}/metrics`, { signal: limit }));
    for (const path of hasAdmin ? PAGES : []) await read(call(path, { signal: limit }));
    const briefly = new AbortController();
    const reading = (hasAdmin ? STREAMS : []).map((path) => read(call(path, { signal: briefly.signal })));
    await delay(1000);
    briefly.abort();
    await Promise.all(reading);
    await delay(plan.sampleSeconds * 1000, undefined, { signal: ended }).catch(() => {});
  }
}

const PAGES = ["graph", "exporters", "dead-letters?limit=20", "dead-letters/groups", "audit"];
const STREAMS = ["live", "tap?at=otlp&rate=50"];

async function read(/** @type {Promise<Response>} */ asked) {
  try {
    await (await asked).arrayBuffer();
  } catch {
    // it was ended, or the agent is busy: the response does not matter here
  }
}

function cpuOf(/** @type {Sample[]} */ samples) {
  const [first, last] = [samples[0], samples.at(-1)];
  return last === undefined || last === first ? Number.NaN : (last.cpuMs - first.cpuMs) / 1000 / (last.at - first.at);
}
