import { ordinaryLines } from "./ordinary.js";
import { plantedLines } from "./planted.js";

/**
 * Judges each detector alone, on the planted values of its kind and on the ordinary lines, and then all of them
 * together.
 *
 * @typedef {{ detector: string, recall: number, exact: number, falsePositives: number, missed: string[],
 *   wrong: string[] }} Judgement
 * @typedef {Pick<typeof import("../../dist/plugin.js"), "batchFromJson" | "readRecords">
 *   & Pick<typeof import("../../dist/processors/pii/pii-treatment.js"), "PiiTreatment">
 *   & Pick<typeof import("../../dist/processors/pii/detect/text/detectors.js"), "DETECTORS">} Pii
 * @param {Pii} pii @param {{ ordinary: number, planted: number, seed?: number }} size @returns {Judgement[]}
 */
export function judge(pii, { ordinary, planted, seed = 1 }) {
  const lines = ordinaryLines(ordinary, seed);
  const rows = pii.DETECTORS.map((detector) => {
    const only = bodiesThrough(pii, [detector]);
    const values = plantedLines(detector, planted, seed + 6);
    const after = only(values.map(({ line }) => line));
    const missed = values.filter((one, i) => !isGone(one, after[i])).map(({ line }) => line);
    const exact = values.filter(({ line, value }, i) => after[i] === line.replace(value, () => "****"));
    const recall = 1 - missed.length / planted;
    return { detector, recall, exact: exact.length / planted, missed, ...falsePositives(only, lines) };
  });
  return [
    ...rows,
    {
      detector: "all",
      recall: Number.NaN,
      exact: Number.NaN,
      missed: [],
      ...falsePositives(bodiesThrough(pii, pii.DETECTORS), lines),
    },
  ];
}

/** True when nothing of the value is left; text around it may be gone too. */
function isGone(/** @type {import("./planted.js").Planted} */ { line, value }, /** @type {string} */ after) {
  const at = line.indexOf(value);
  const before = line.slice(0, at);
  const behind = line.slice(at + value.length);
  let from = 0;
  while (from < before.length && after[from] === before[from]) from++;
  let to = 0;
  while (to < behind.length && after.length - to > from && after.at(-1 - to) === behind.at(-1 - to)) to++;
  return /^[^\p{L}\p{N}]*\*{4}[^\p{L}\p{N}]*$/u.test(after.slice(from, after.length - to));
}

function falsePositives(/** @type {(lines: string[]) => string[]} */ treated, /** @type {string[]} */ lines) {
  const after = treated(lines);
  const wrong = lines.filter((line, i) => after[i] !== line);
  return { falsePositives: wrong.length / lines.length, wrong };
}

/** Passes lines as bodies of log records through a treatment with these detectors. */
function bodiesThrough(/** @type {Pii} */ pii, /** @type {readonly string[]} */ detectors) {
  const treatment = new pii.PiiTreatment({
    isEnforced: true,
    detectors: new Map(detectors.map((name) => [name, "mask"])),
    patterns: [],
    hashKey: undefined,
    fields: new Map(),
    secretKeys: undefined,
    summary: "silent",
    jsonBodies: false,
  });
  return (/** @type {string[]} */ lines) => {
    const logRecords = lines.map((line) => ({ body: { stringValue: line } }));
    const batch = pii.batchFromJson("logs", JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] }));
    /** @type {string[]} */
    const bodies = [];
    pii.readRecords(treatment.treat(batch), (record) => {
      if (record.signal === "logs") bodies.push(String(record.body));
    });
    return bodies;
  };
}
