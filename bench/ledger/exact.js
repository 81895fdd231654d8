import { openSync, readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { CELLS } from "../components/cells.js";
import { caughtUp, nextRun, recordProblems } from "../lib/measure.js";
import { freePort, waitOpen } from "../lib/processes/ports.js";
import { startRole } from "../lib/processes/role.js";
import { sluiceConfig } from "../lib/sluice-config.js";
import { placeOf } from "./place.js";

/**
 * The exact kinds: bytes allocated and copied for each record, and the functions and files that one warm request
 * enters. They are about work and not about time, so they repeat to a percent on a busy machine.
 *
 * @typedef {import("../lib/processes/role.js").Role} Role
 * @typedef {Partial<Record<import("./cells.js").ExactKind, number>>} Figures
 * @typedef {(what: import("./meter.js").Meter, requests: number) => Promise<any>} Between measures while so many
 *   requests pass
 */

/**
 * V8 compiles and collects at the same points of the work each time, forgets no compiled code, and collects young
 * objects rarely.
 */
const REPEATABLE = [
  "--single-threaded",
  "--no-memory-reducer",
  "--no-flush-bytecode",
  "--min-semi-space-size=64",
  "--max-semi-space-size=64",
];
/** V8 counts its young objects in pages of 256 KiB, which must be little beside what was allocated. */
const MIN_ALLOCATED = 48 * 1024 * 1024;
const MAX_REQUESTS = 4000;
const WARM_REQUESTS = 2000;
/** A large request warms up more. */
const WARM_RECORDS = 1_000_000;
const MIN_WARM_REQUESTS = 800;
const PROBE_SHARE = 20;
const COPY_REQUESTS = 100;
const ENTERED_ROUNDS = 6;
/** Longer than it takes until an entry has left its queue, so that this is counted too. */
const SETTLE_MS = 300;
/** Each piece, and pieces that were joined on the way, are read as often. */
const PIECE_BYTES = 60_000;
const SLOW_CLOCK = ["--import", new URL("slow-clock.js", import.meta.url).href];
const PATIENCE_MS = 60_000;
const CONFIG = "sluice.yaml";

/** @param {import("./cells.js").LoadCell} cell @param {ReadonlySet<string>} kinds @returns {Promise<Figures>} */
export async function measureLoad(
  { name, records, encoding = "proto", signal = "logs", hits = 0, hasTraceIds = false, needsClock = false, ...more },
  kinds,
) {
  const generator = startRole(new URL("../roles/generator.js", import.meta.url));
  const sink = startRole(new URL("../roles/sink.js", import.meta.url));
  const folder = await mkdtemp(join(tmpdir(), "sluice-ledger-"));
  /** @type {Role | undefined} */
  let agent;
  try {
    const sinkPort = await sink.call("listen", 0);
    const ports = { http: await freePort(), grpc: await freePort(), health: await freePort(), sink: sinkPort };
    await writeFile(join(folder, CONFIG), sluiceConfig({ ...placeOf(more), ports, signal, encoding, folder }));
    const port = encoding === "grpc" ? ports.grpc : ports.http;
    const execArgv = [...REPEATABLE, ...(needsClock ? [] : SLOW_CLOCK)];
    agent = await startMeteredAgent(new URL("agent.js", import.meta.url), { folder, port, execArgv });
    const run = nextRun();
    const plan = { signal, encoding, records, run, port, hits, hasTraceIds, concurrency: 1, pieceBytes: PIECE_BYTES };
    await sink.call("begin", { run, perRequest: records });
    await generator.call("prepare", plan);
    /** @type {any} */
    let sent;
    const send = async (/** @type {number} */ requests) => {
      sent = await generator.call("run", { seconds: PATIENCE_MS / 1000, requests, keepOpen: true });
      await caughtUp(sink, sent.acknowledged, PATIENCE_MS);
    };
    await send(Math.min(WARM_REQUESTS, Math.max(MIN_WARM_REQUESTS, WARM_RECORDS / records)));
    const figures = await allFigures(agent, send, kinds, { most: MAX_REQUESTS, records });
    const round = { ...sent, ...(await sink.call("compare", sent.acknowledgements)) };
    const problems = recordProblems(name, round);
    if (problems.length > 0) throw new Error(problems.join("; "));
    return figures;
  } finally {
    await Promise.all([agent, generator, sink].map((role) => role?.stop()));
    await rm(folder, { recursive: true, force: true });
  }
}

/**
 * Starts an agent that can be asked for its meters. Its log goes into its folder, and into the error if it fails.
 *
 * @param {URL} program @param {{ folder: string, port: number, execArgv: string[] }} options
 * @returns {Promise<Role>}
 */
export async function startMeteredAgent(program, { folder, port, execArgv }) {
  const log = join(folder, "agent.log");
  const args = ["run", "--config", join(folder, CONFIG)];
  const agent = startRole(program, { args, execArgv, output: openSync(log, "w") });
  if (!(await waitOpen(port, agent.isRunning)))
    throw new Error(`the agent does not start: ${readFileSync(log, "utf8")}`);
  return agent;
}

/** @param {import("./cells.js").ComponentCell} cell @param {ReadonlySet<string>} kinds @param {import("../components/cells.js").CellSetting} setting @returns {Promise<Figures>} */
export async function measureComponent({ component, warmTurns, turns }, kinds, setting) {
  const role = startRole(new URL("../roles/component.js", import.meta.url), { execArgv: REPEATABLE });
  try {
    const { port } = await role.call("start", { cell: component, setting });
    const arrived = (/** @type {number} */ count) => role.call("until", { count });
    const driven = port && (await CELLS[component].drive?.({ port, arrived }));
    let records = 0;
    const work = async (/** @type {number} */ times) => {
      records = 0;
      if (!driven) records = await role.call("times", { times });
      else for (let i = 0; i < times; i++) records += await driven();
    };
    await work(warmTurns);
    await work(1);
    const figures = await allFigures(role, work, kinds, { most: turns, records, copyRequests: Math.min(turns, 10) });
    await role.call("stop");
    return figures;
  } finally {
    await role.stop();
  }
}

/**
 * @param {Role} role @param {(requests: number) => Promise<void>} work @param {ReadonlySet<string>} kinds
 * @param {{ most: number, records: number, copyRequests?: number }} sizes most: requests; records: in a request
 * @returns {Promise<Figures>}
 */
async function allFigures(role, work, kinds, { most, records, copyRequests = COPY_REQUESTS }) {
  /** @type {Between} */
  const between = async (what, requests) => {
    await delay(SETTLE_MS);
    await role.call("begin", what);
    await work(requests);
    if (what === "entered") await delay(SETTLE_MS);
    return role.call("end", what);
  };
  const perRecord = (/** @type {number} */ bytes, /** @type {number} */ requests) =>
    Math.round((bytes / requests / records) * 100) / 100;
  /** @type {Figures} */
  const figures = {};
  if (kinds.has("allocated")) {
    const probe = Math.ceil(most / PROBE_SHARE);
    const each = (await between("allocated", probe)) / probe;
    const requests = Math.min(most, Math.max(probe, Math.ceil(MIN_ALLOCATED / each)));
    figures.allocated = perRecord(await between("allocated", requests), requests);
  }
  if (kinds.has("copied")) figures.copied = perRecord(await between("copied", copyRequests), copyRequests);
  if (kinds.has("functions") || kinds.has("files")) Object.assign(figures, await enteredBy(between));
  return figures;
}

/** What every one of some requests entered, so that timers of the background do not count. @param {Between} between */
async function enteredBy(between) {
  await between("entered", 1); // V8 compiles anew when it begins to count
  /** @type {Set<string>[]} */
  const rounds = [];
  for (let i = 0; i < ENTERED_ROUNDS; i++) rounds.push(new Set(await between("entered", 1)));
  const functions = [...rounds[0]].filter((each) => rounds.every((round) => round.has(each)));
  return { functions: functions.length, files: new Set(functions.map((each) => each.split(":")[0])).size };
}
