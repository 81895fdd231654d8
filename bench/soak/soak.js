import { openSync, readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { freePort, waitOpen } from "../lib/processes/ports.js";
import { startRole } from "../lib/processes/role.js";
import { soakConfig } from "./parts.js";

/**
 * One soak: an agent with these parts under load, with its backends failing in cycles and its live bytes sampled.
 *
 * @typedef {{ at: number, mood: string, waiting: number } & import("./live-bytes.js").LiveBytes} Sample
 *   at: seconds since the load began; waiting: bytes in the queues of all exporters
 * @typedef {{ samples: Sample[], sent: number, requests: number, cpu: number }} Run cpu: of one core, on average
 * @typedef {{ parts: readonly string[], seconds: number, rate: number, cycleSeconds: number, sampleSeconds: number,
 *   warmupSeconds: number, asShipped: boolean, imports: readonly string[], snapshots: string | undefined }} Plan
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
    agent = await startAgent(plan, ports, folder);
    await clients.call("start", { http: ports.http, grpc: ports.grpc, rate: plan.rate });
    const ended = new AbortController();
    const looking = lookAround(plan, ports, ended.signal);
    const samples = await watch(plan, { agent, backends, clients, ports }, progress).finally(() => ended.abort());
    await looking;
    const { requests } = await backends.call("counts");
    return { samples, sent: await clients.call("sent"), requests, cpu: cpuOf(samples) };
  } catch (error) {
    throw new Error(`the soak has ended: ${error}\n${readFileSync(join(folder, "agent.log"), "utf8").slice(-4000)}`);
  } finally {
    await Promise.all([clients.stop(), agent?.stop(), backends.stop()]);
    await rm(folder, { recursive: true, force: true });
  }
}

async function choosePorts() {
  const names = ["http", "grpc", "again", "admin", "health", "prometheus"];
  return Object.fromEntries(await Promise.all(names.map(async (name) => [name, await freePort()])));
}

async function startAgent(/** @type {Plan} */ plan, /** @type {any} */ ports, /** @type {string} */ folder) {
  const file = join(folder, "sluice.json");
  await writeFile(file, JSON.stringify(soakConfig(plan.parts, ports, folder, plan.asShipped), null, 2));
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

/** Sends the requests of an open console and of Prometheus. */
async function lookAround(/** @type {Plan} */ plan, /** @type {any} */ ports, /** @type {AbortSignal} */ ended) {
  const api = `http://127.0.0.1:${ports.admin}/api/v1`;
  const hasAdmin = plan.parts.includes("admin");
  while (!ended.aborted) {
    if (plan.parts.includes("prometheus")) await read(`http://127.0.0.1:${ports.prometheus}/metrics`);
    for (const path of hasAdmin ? PAGES : []) await read(`${api}/${path}`);
    const briefly = AbortSignal.any([ended, AbortSignal.timeout(1000)]);
    await Promise.all((hasAdmin ? STREAMS : []).map((path) => read(`${api}/${path}`, briefly)));
    await delay(plan.sampleSeconds * 1000, undefined, { signal: ended }).catch(() => {});
  }
}

const PAGES = ["graph", "exporters", "dead-letters?limit=20", "dead-letters/groups", "audit"];
const STREAMS = ["live", "tap?at=otlp&rate=50"];

async function read(/** @type {string} */ url, /** @type {AbortSignal} */ signal = AbortSignal.timeout(10_000)) {
  try {
    await (await fetch(url, { signal })).arrayBuffer();
  } catch {
    // it was ended, or the agent is busy: the response does not matter here
  }
}

function cpuOf(/** @type {Sample[]} */ samples) {
  const [first, last] = [samples[0], samples.at(-1)];
  return last === undefined || last === first ? Number.NaN : (last.cpuMs - first.cpuMs) / 1000 / (last.at - first.at);
}
