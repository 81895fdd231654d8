import { runCell } from "../lib/cell.js";
import { freePort } from "../lib/processes/ports.js";
import { startRole } from "../lib/processes/role.js";
import { sluice } from "../lib/subjects.js";
import { show, showRatio } from "../lib/table.js";

/**
 * Two exporters in one pipeline. First both backends are alive, then nothing listens at the second one: the first must
 * keep 95 % of its throughput.
 */
export const summary = "one of two exporters is dead: what the other one keeps of its throughput";

/** @param {import("../lib/bench.js").Bench} bench @returns {Promise<import("../lib/bench.js").Outcome>} */
export async function run(bench) {
  const second = startRole(new URL("../roles/sink.js", import.meta.url));
  try {
    const alive = await second.call("listen", 0);
    const dead = await freePort();
    const subjects = [beside("both alive", alive), beside("one dead", dead)];
    const cell = {
      encoding: /** @type {const} */ ("proto"),
      records: 100,
      concurrency: bench.options.concurrency ?? 32,
    };
    const { results, failures } = await runCell(bench, "neighbour", cell, { subjects, baseline: "both alive" });
    return { results, failures, tables: [toTable(results)] };
  } finally {
    await second.stop();
  }
}

/** The agent with a second exporter that sends to this port. @returns {import("../lib/subjects.js").Subject} */
function beside(/** @type {string} */ name, /** @type {number} */ port) {
  const queue = { durability: /** @type {const} */ ("fsync"), beside: port, exporter: { timeout: "60s" } };
  return { name, command: (place) => sluice.command({ ...place, queue }) };
}

/** @returns {import("../lib/table.js").Table} */
function toTable(/** @type {any[]} */ results) {
  return {
    title: "neighbour: two exporters, queue on, fsync",
    columns: "second exporter,records/s,ratio (min-max),delivered/s,ratio (min-max),CPU us/rec,p99 ms,lost".split(","),
    rows: results.map((row) => [
      row.subject,
      show(row.recordsPerSecond),
      showRatio(row.throughputRatio),
      show(row.deliveredPerSecond),
      showRatio(row.deliveryRatio),
      show(row.cpuUsPerRecord, 2),
      show(row.p99Ms, 1),
      show(row.lost),
    ]),
    note: "delivered: to the first exporter's backend.",
  };
}
