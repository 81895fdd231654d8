import { PATIENT } from "../lib/durable.js";

/**
 * The agent of a cell: without `batch` and queue unless the cell has them.
 *
 * @param {Partial<import("./cells.js").LoadCell>} cell
 */
export function placeOf({ processors, isDurable = false, batching, workers }) {
  return {
    batch: { timeout: "5ms", size: 1000 },
    batching: /** @type {const} */ (batching ?? "without"),
    ...(processors && { processors }),
    ...(isDurable && { queue: { durability: /** @type {const} */ ("fsync"), exporter: PATIENT } }),
    ...(workers && { workers }),
  };
}
