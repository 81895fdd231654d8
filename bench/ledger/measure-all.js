import { startTargets } from "../components/targets.js";
import { startRole } from "../lib/processes/role.js";
import { COMPONENTS, EXACT_KINDS, LOADS, RSS_CELL, SLOW, TIMED_SPREAD } from "./cells.js";
import { nameOf } from "./compare.js";
import { measureComponent, measureLoad } from "./exact.js";
import { measureLoop } from "./loop.js";
import { measureRatios } from "./ratios.js";
import { measureSlow } from "./slow.js";
import { measurePackage, measureStarts } from "./starts.js";

/** @typedef {import("./compare.js").Measured} Measured */

/** Exact kinds do not depend on what else runs. */
const LANES = 2;
/** A page of 50,000 samples that is scraped more often than in the other benchmark, to save time. */
const SCRAPE_SECONDS = 1;

/**
 * Measures these figures, one kind after the other. What cannot be measured is told to `fail`, and does not end the
 * rest.
 *
 * @param {readonly import("./cells.js").Planned[]} planned
 * @param {{ say(text: string): void, fail(text: string): void }} told
 * @returns {Promise<Measured[]>}
 */
export async function measureAll(planned, { say, fail }) {
  /** @type {Measured[]} */
  const measured = [];
  const measuring = async (/** @type {string} */ title, /** @type {() => Promise<Measured[]>} */ work) => {
    try {
      const figures = await work();
      measured.push(...figures);
      say(
        `${title}: ${figures.map(({ name, kind, value }) => `${name === title ? "" : `${name} `}${kind} ${value}`).join(", ")}`,
      );
    } catch (error) {
      fail(`${title} could not be measured: ${error instanceof Error ? error.message : error}`);
    }
  };
  const named = (/** @type {readonly string[]} */ ...kinds) =>
    new Set(planned.filter(({ kind }) => kinds.includes(kind)).map(({ name }) => name));
  const kindsOf = (/** @type {string} */ cell) =>
    new Set(planned.filter(({ name }) => name === cell).map(({ kind }) => kind));
  const targets = await startTargets();
  const generator = startRole(new URL("../roles/generator.js", import.meta.url));
  const sink = startRole(new URL("../roles/sink.js", import.meta.url));
  const setting = { target: targets.http, grpc: targets.grpc, scrapeSeconds: SCRAPE_SECONDS };
  try {
    const surroundings = {
      roles: { generator, sink },
      sink: await sink.call("listen", 0),
      targets: setting,
      say,
      fail,
    };
    const [exact, compared, loops] = [named(...EXACT_KINDS), named("ratio", "p99"), named("loop")];
    // Components come first, because their turns are long: so both lanes end at the same time.
    const counted = [...COMPONENTS, ...LOADS].filter(({ name }) => exact.has(name));
    await inLanes(counted, (cell) => measuring(cell.name, () => exactFigures(cell, kindsOf(cell.name), setting)));
    const starts = /** @type {const} */ (["start", "version"]).filter((kind) => named(kind).size > 0);
    if (starts.length > 0) await measuring("starts", () => measureStarts(starts));
    if (named("package").size > 0) await measuring("package", async () => [measurePackage()]);
    const ratios = [...LOADS, ...COMPONENTS].filter(({ name }) => compared.has(name));
    if (ratios.length > 0) await measuring("ratios", () => measureRatios(ratios, surroundings));
    for (const cell of LOADS.filter(({ name }) => loops.has(name)))
      await measuring(cell.name, () => measureLoop(cell, surroundings));
    if (planned.some(({ name }) => name === RSS_CELL || SLOW.includes(name)))
      await measuring("agents with little to do", () => measureSlow(say));
  } finally {
    targets.stop();
    await Promise.all([generator.stop(), sink.stop()]);
  }
  const wanted = new Set(planned.map(nameOf));
  return measured.filter((each) => wanted.has(nameOf(each)));
}

/**
 * @param {import("./cells.js").LoadCell | import("./cells.js").ComponentCell} cell @param {ReadonlySet<string>} kinds
 * @param {import("../components/cells.js").CellSetting} setting @returns {Promise<Measured[]>}
 */
async function exactFigures(cell, kinds, setting) {
  const figures = await ("component" in cell ? measureComponent(cell, kinds, setting) : measureLoad(cell, kinds));
  return EXACT_KINDS.flatMap((kind) => {
    const value = figures[kind];
    return value === undefined
      ? []
      : [{ name: cell.name, kind, value, spread: cell.isTimed && kind !== "copied" ? TIMED_SPREAD : 0 }];
  });
}

/** @template T @param {readonly T[]} items @param {(item: T) => Promise<void>} work */
async function inLanes(items, work) {
  const waiting = [...items];
  const lane = async () => {
    for (let item = waiting.shift(); item !== undefined; item = waiting.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: LANES }, lane));
}
