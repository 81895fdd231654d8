import { runDurable } from "../lib/durable.js";

export const summary = "with the queue on, fsynced, against a bare forwarder that writes the same store";

/** @param {import("../lib/bench.js").Bench} bench */
export const run = (bench) => runDurable(bench, "durable", "fsync");
