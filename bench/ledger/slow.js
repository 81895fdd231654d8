import { setTimeout as delay } from "node:timers/promises";
import { measure, recordProblems } from "../lib/measure.js";
import { startRole } from "../lib/processes/role.js";
import { startSubject } from "../lib/processes/run-subject.js";
import { BUILTIN, sluice } from "../lib/subjects.js";
import { RSS_CELL } from "./cells.js";
import { placeOf } from "./place.js";
import { figureOf } from "./ratios.js";

/**
 * Most agents get little: 30 requests a second of 30 records. Such agents, with the queue and without, run for ten minutes beside
 * the bare forwarders with the same load, and beside an idle agent. The figures are CPU per record over that of the
 * bare forwarder of the same kind, in the first minute and afterwards; CPU of the idle agent in a second over that of
 * the bare forwarder in a second of load; and the memory of the durable agent.
 */
const LOAD = { signal: "logs", encoding: "proto", records: 30, concurrency: 4, rate: 30, settle: 20 };
const MINUTE = 60;
const MINUTES = 10;
const MIB = 1024 * 1024;

/** @param {(text: string) => void} say @param {number} [minutes] @param {number} [minute] seconds @returns {Promise<import("./compare.js").Measured[]>} */
export async function measureSlow(say, minutes = MINUTES, minute = MINUTE) {
  const agents = await Promise.all([
    startLane(sluice, {}),
    startLane(sluice, { isDurable: true }),
    startLane(BUILTIN.bare, {}),
    startLane(BUILTIN.bare, { isDurable: true }),
  ]);
  const idle = await startLane(sluice, { isDurable: true });
  try {
    /** @type {number[][]} */
    const rounds = [];
    /** @type {number[]} */
    const idleUs = [];
    for (let i = 0; i < minutes; i++) {
      say(`30 requests a second: minute ${i + 1} of ${minutes}`);
      const before = await idle.cpuUs();
      rounds.push(await Promise.all(agents.map((lane) => lane.minute(minute))));
      idleUs.push((await idle.cpuUs()) - before);
    }
    const ratios = (/** @type {number} */ agent, /** @type {number} */ bare) =>
      rounds.map((round) => round[agent] / round[bare]);
    const recordsAMinute = LOAD.rate * LOAD.records * minute;
    const [off, durable] = [ratios(0, 2), ratios(1, 3)];
    const usage = await agents[1].rssBytes();
    return [
      ...figureOf("idle", "ratio", idleUs.map((us, i) => us / (rounds[i][2] * recordsAMinute)).slice(1)),
      ...figureOf("30 a second", "ratio", off.slice(1)),
      ...figureOf("30 a second, durable", "ratio", durable.slice(1)),
      ...figureOf("30 a second, first minute", "ratio", off.slice(0, 1)),
      ...figureOf("30 a second, durable, first minute", "ratio", durable.slice(0, 1)),
      { name: RSS_CELL, kind: "rss", value: Math.round(usage / MIB), spread: 0 },
    ];
  } finally {
    await Promise.all([...agents, idle].map((lane) => lane.stop()));
  }
}

/** A subject with a generator and a sink of its own. @param {import("../lib/subjects.js").Subject} subject @param {{ isDurable?: boolean }} cell */
async function startLane(subject, cell) {
  const generator = startRole(new URL("../roles/generator.js", import.meta.url));
  const sink = startRole(new URL("../roles/sink.js", import.meta.url));
  const load = /** @type {import("../lib/measure.js").Load} */ (LOAD);
  const place = { ...placeOf(cell), client: "own", signal: load.signal, encoding: load.encoding };
  const running = await startSubject(subject, { ...place, sink: await sink.call("listen", 0) });
  return {
    cpuUs: async () => (await running.usage())?.cpuUs ?? 0,
    rssBytes: async () => (await running.usage())?.rssBytes ?? 0,
    minute: async (/** @type {number} */ seconds) => {
      const round = await measure({ generator, sink }, running, { ...load, seconds });
      const problems = recordProblems(`${subject.name}, 30 a second`, round);
      if (problems.length > 0) throw new Error(problems.join("; "));
      return round.cpuUsPerRecord;
    },
    stop: async () => {
      await running.stop();
      await Promise.all([generator.stop(), sink.stop()]);
      await delay(0);
    },
  };
}
