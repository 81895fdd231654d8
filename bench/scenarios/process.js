import { runDurable } from "../lib/durable.js";

export const summary = "the same without fsync: what is acknowledged survives the process, not the machine";

/** @param {import("../lib/bench.js").Bench} bench */
export const run = (bench) => runDurable(bench, "process", "process");
