import { setImmediate as turnOfLoop } from "node:timers/promises";
import { Batch } from "../../../dist/plugin.js";
import { Flow } from "../../../dist/runtime/pipeline/intake/intake.js";
import { component } from "../kit.js";
import { logs } from "../load.js";

/** Batches of a hundred records, because whole batches are read or not. */
const RECORDS = 100;
const BATCHES_A_TURN = 100;

/**
 * Extensions that look at the records that pass, in front of an exporter that takes no time.
 * @type {Record<string, import("../cells.js").Cell>}
 */
export const EXTENSION_CELLS = {
  "insight, 5 % of the batches": insight({}, 0.3),
  "insight, all batches": insight({ sampling_ratio: 1 }),
};

/** @returns {import("../cells.js").Cell} */
function insight(/** @type {object} */ keys, /** @type {number | undefined} */ goal = undefined) {
  return {
    of: "extension/insight",
    unit: "record",
    base: "the check of every field when it comes in",
    ...(goal !== undefined && { goal }),
    start: async () => {
      const extension = await component("extension/insight", keys);
      const flow = new Flow();
      const edge = { id: "edge", from: "receiver:a", to: "exporter:b", pipeline: "logs", signal: "logs" };
      const nodes = [
        { id: edge.from, kind: "receiver", name: "a" },
        { id: edge.to, kind: "exporter", name: "b" },
      ];
      const watch = (/** @type {object[]} */ _, /** @type {(batch: Batch, edge: object) => void} */ watcher) =>
        flow.watch((batch) => watcher(batch, edge));
      extension.inspect({ graph: { nodes, edges: [edge] }, watch });
      const batch = Batch.admit("logs", logs(RECORDS));
      const turn = async () => {
        for (let i = 0; i < BATCHES_A_TURN; i++) flow.pass(batch);
        await turnOfLoop();
        return RECORDS * BATCHES_A_TURN;
      };
      const bareTurn = async () => {
        for (let i = 0; i < BATCHES_A_TURN; i++) Batch.admit("logs", batch.bytes);
        await turnOfLoop();
        return RECORDS * BATCHES_A_TURN;
      };
      return { turn, count: () => flow.records, bare: { turn: bareTurn }, stop: () => extension.stop() };
    },
  };
}
