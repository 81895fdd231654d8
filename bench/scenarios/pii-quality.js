import { batchFromJson, readRecords } from "../../dist/plugin.js";
import { DETECTORS } from "../../dist/processors/pii/detect/text/detectors.js";
import { PiiTreatment } from "../../dist/processors/pii/pii-treatment.js";
import { show } from "../lib/table.js";
import { judge } from "../pii-corpus/judge.js";

/** How well the detectors of `pii` find what they are for, and how often they find it where it is not. */
export const summary = "recall and false positives of each detector of pii, on a corpus made from a seed";

const LEAST_RECALL = 0.99;
const MAX_FALSE_POSITIVES = 0.01;

/** @param {import("../lib/bench.js").Bench} bench @returns {Promise<import("../lib/bench.js").Outcome>} */
export async function run({ options, progress }) {
  const size = options.quick ? { ordinary: 1000, planted: 200 } : { ordinary: 10_000, planted: 2000 };
  progress.say("pii-quality");
  const results = judge({ batchFromJson, DETECTORS, PiiTreatment, readRecords }, size).map((row) => ({
    scenario: "pii-quality",
    ...row,
  }));
  const failures = results.flatMap(({ detector, recall, falsePositives }) => [
    ...(recall < LEAST_RECALL ? [`${detector}: recall ${percent(recall)}`] : []),
    ...(falsePositives > MAX_FALSE_POSITIVES ? [`${detector}: false positives ${percent(falsePositives)}`] : []),
  ]);
  return { results, failures, tables: [toTable(results, size)] };
}

const percent = (/** @type {number} */ part) => `${show(part * 100, 2)} %`;

/** @returns {import("../lib/table.js").Table} */
function toTable(
  /** @type {any[]} */ results,
  /** @type {{ ordinary: number, planted: number }} */ { ordinary, planted },
) {
  return {
    title: `pii-quality: ${show(planted)} planted values of each kind, ${show(ordinary)} ordinary lines`,
    columns: ["detector", "recall", "exact", "false positives", "for example"],
    rows: results.map((row) => [
      row.detector,
      Number.isNaN(row.recall) ? "" : percent(row.recall),
      Number.isNaN(row.exact) ? "" : percent(row.exact),
      percent(row.falsePositives),
      [...row.missed.slice(0, 1), ...row.wrong.slice(0, 1)].map((text) => JSON.stringify(text.slice(0, 70))).join("  "),
    ]),
    note: "recall: planted values of which nothing is left, that detector alone being on; exact: and nothing else is gone. false positives: ordinary lines that it changes.",
  };
}
