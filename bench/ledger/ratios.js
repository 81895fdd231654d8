import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CELLS } from "../components/cells.js";
import { warmingUp } from "../lib/cell.js";
import { measure, recordProblems } from "../lib/measure.js";
import { startRole } from "../lib/processes/role.js";
import { startSubject } from "../lib/processes/run-subject.js";
import { median } from "../lib/statistics.js";
import { BUILTIN, sluice } from "../lib/subjects.js";
import { untilSeconds } from "../lib/until-seconds.js";
import { MAX_SPREAD } from "./compare.js";
import { placeOf } from "./place.js";

/**
 * CPU per record, and p99 of the answer, over those of the bare forwarder with 16 clients and 100 records a request. A few
 * cells and the bare forwarder run at the same time and take turns under load, so that disturbances of the machine
 * affect all of them. More rounds follow while those of a cell differ too much.
 *
 * @typedef {{ cpu: number, p99: number | null }} Turn
 * @typedef {{ name: string, turn(seconds: number): Promise<Turn>, stop(): Promise<void> }} Contestant
 * @typedef {{ roles: import("../lib/measure.js").Roles, sink: number, targets: import("../components/cells.js").CellSetting,
 *   say(text: string): void, fail(text: string): void }} Surroundings
 */
const BASE = { name: "bare", records: 100, clients: 16 };
const GROUP = 5;
const WARM_SECONDS = 1.5;
const TURN_SECONDS = 0.8;
const MIN_ROUNDS = 7;
const MAX_ROUNDS = 25;
/** No group begins another round after that; ten cells fit into two groups. */
const GROUP_SECONDS = 40;
const SETTLE_SECONDS = 20;
const RELOAD_MS = 250;

/**
 * @param {readonly (import("./cells.js").LoadCell | import("./cells.js").ComponentCell)[]} cells
 * @param {Surroundings} surroundings @returns {Promise<import("./compare.js").Measured[]>}
 */
export async function measureRatios(cells, surroundings) {
  const measured = [];
  for (let i = 0; i < cells.length; i += GROUP) {
    measured.push(...(await measureGroup(cells.slice(i, i + GROUP), surroundings)));
  }
  return measured;
}

/** @type {typeof measureRatios} */
async function measureGroup(cells, surroundings) {
  const { say, fail } = surroundings;
  /** @type {Contestant[]} */
  const running = [];
  /** @type {Map<string, { cpu: number[], p99: number[] }>} */
  const ratios = new Map();
  const end = performance.now() + GROUP_SECONDS * 1000;
  try {
    for (const cell of [BASE, ...cells]) {
      say(`ratio: warming up ${cell.name}`);
      try {
        const one = await ("component" in cell ? startComponent(cell, surroundings) : startLoad(cell, surroundings));
        running.push(one);
        await one.turn(WARM_SECONDS);
        if (cell !== BASE) ratios.set(cell.name, { cpu: [], p99: [] });
      } catch (error) {
        fail(`${cell.name}, ratio: ${error instanceof Error ? error.message : error}`);
      }
    }
    const isEven = () => [...ratios.values()].every(({ cpu }) => spreadOf(cpu) <= MAX_SPREAD);
    for (let i = 0; i < MAX_ROUNDS && performance.now() < end && !(i >= MIN_ROUNDS && isEven()); i++) {
      say(`ratio: round ${i + 1} of ${[...ratios.keys()].join(", ")}`);
      /** @type {Map<string, Turn>} */
      const turns = new Map();
      for (const one of i % 2 === 0 ? running : [...running].reverse()) {
        try {
          turns.set(one.name, await one.turn(TURN_SECONDS));
        } catch (error) {
          fail(`${one.name}, ratio: ${error instanceof Error ? error.message : error}`);
          ratios.delete(one.name);
        }
      }
      const base = turns.get(BASE.name);
      if (base === undefined) break;
      for (const [name, { cpu, p99 }] of ratios) {
        const turn = /** @type {Turn} */ (turns.get(name));
        cpu.push(turn.cpu / base.cpu);
        if (turn.p99 !== null && base.p99 !== null) p99.push(turn.p99 / base.p99);
      }
    }
  } finally {
    for (const one of running) await one.stop();
  }
  return [...ratios].flatMap(([name, { cpu, p99 }]) => [
    ...figureOf(name, "ratio", cpu),
    ...figureOf(name, "p99", p99),
  ]);
}

/** @param {string} name @param {import("./cells.js").Kind} kind @param {number[]} rounds @returns {import("./compare.js").Measured[]} */
export function figureOf(name, kind, rounds) {
  if (rounds.length === 0) return [];
  return [{ name, kind, value: Math.round(median(rounds) * 1000) / 1000, spread: spreadOf(rounds) }];
}

/** Half the distance between the quartiles, relative to the median. @param {readonly number[]} values */
export function spreadOf(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (/** @type {number} */ share) => sorted[Math.round((sorted.length - 1) * share)];
  return (at(0.75) - at(0.25)) / 2 / median(sorted);
}

/** @param {import("./cells.js").LoadCell} cell @param {Surroundings} surroundings @returns {Promise<Contestant>} */
async function startLoad(cell, { roles, sink }) {
  const { name, records, clients, encoding = "proto", signal = "logs", hits = 0, hasTraceIds = false, reloads } = cell;
  const folder = await mkdtemp(join(tmpdir(), "sluice-ledger-"));
  const place = { ...placeOf(cell), client: "own", signal, encoding, sink, folder };
  const subject = await startSubject(cell === BASE ? BUILTIN.bare : sluice, place);
  const load = { signal, encoding, records, hits, hasTraceIds, concurrency: clients, settle: SETTLE_SECONDS };
  const reloading = reloads && reloader(join(folder, "sluice.yaml"), subject.reload);
  let isWarm = false;
  return {
    name,
    turn: async (seconds) => {
      reloading?.start();
      const round = await measure(roles, subject, { ...(isWarm ? load : warmingUp(load)), seconds });
      await reloading?.stop();
      isWarm = true;
      const problems = recordProblems("the records", round);
      if (problems.length > 0) throw new Error(problems.join("; "));
      return { cpu: round.cpuUsPerRecord, p99: round.p99Ms };
    },
    stop: async () => {
      await subject.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Changes the exporter of a config again and again. @param {string} file @param {() => void} reload */
export function reloader(file, reload) {
  let isStopped = true;
  let n = 0;
  let last = Promise.resolve();
  const next = async () => {
    const config = JSON.parse(await readFile(file, "utf8"));
    config.exporters.otlphttp.headers = { "x-reload": `${n++}` };
    await writeFile(file, JSON.stringify(config));
    reload();
    await new Promise((resolve) => setTimeout(resolve, RELOAD_MS));
  };
  const loop = async () => {
    while (!isStopped) await next();
  };
  return {
    start: () => {
      isStopped = false;
      last = loop();
    },
    stop: () => {
      isStopped = true;
      return last;
    },
  };
}

/** @param {import("./cells.js").ComponentCell} cell @param {Surroundings} surroundings @returns {Promise<Contestant>} */
async function startComponent({ name, component }, { targets }) {
  const role = startRole(new URL("../roles/component.js", import.meta.url));
  const { port } = await role.call("start", { cell: component, setting: targets });
  const arrived = (/** @type {number} */ count) => role.call("until", { count });
  const driven = port && (await CELLS[component].drive?.({ port, arrived }));
  let given = 0;
  return {
    name,
    turn: async (seconds) => {
      const before = await role.call("usage");
      const records = await (driven ? untilSeconds(seconds, driven) : role.call("turns", { seconds }));
      given += records;
      return { cpu: ((await role.call("usage")) - before) / records, p99: null };
    },
    stop: async () => {
      const out = await role.call("stop");
      await role.stop();
      if (!(CELLS[component].makesOthers ? out > 0 : out === given))
        throw new Error(`${name}: ${out} of ${given} records came out`);
    },
  };
}
