import { basename } from "node:path";
import { parseArgs } from "node:util";
import { batchFromJson, readRecords } from "../../dist/plugin.js";
import { piiSchema } from "../../dist/processors/pii/config.js";
import { PiiTreatment } from "../../dist/processors/pii/pii-treatment.js";
import { formatTable, show } from "../lib/table.js";
import { judgeFolder, linesThrough } from "./lines.js";

/**
 * Prints recall per kind and false positives of the processor pii on folders of lines.
 *
 *     node bench/pii-corpus/judge-lines.js bench/pii-corpus/web [--strict] [--confidence high] [--missed] [--json] [--floors]
 */
const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    strict: { type: "boolean", default: false },
    confidence: { type: "string" },
    missed: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
    floors: { type: "boolean", default: false },
  },
});

const config = {
  ...(options.strict ? { profile: "strict" } : {}),
  ...(options.confidence === undefined ? {} : { confidence: options.confidence }),
};
const treat = linesThrough({ batchFromJson, readRecords }, new PiiTreatment(piiSchema.parse(config)));
const judged = positionals.map((folder) => ({ folder, ...judgeFolder(folder, treat, options.strict) }));

if (options.floors) console.log(JSON.stringify(Object.fromEntries(judged.map(floorsOf)), null, 2));
else if (options.json) console.log(JSON.stringify(judged, null, 2));
else for (const one of judged) print(one);

/** The floors of test/processors/pii/detect/line-floors.json, if these results are to be held. */
function floorsOf(/** @type {import("./lines.js").LineJudgement & { folder: string }} */ { folder, kinds, changed }) {
  const recall = kinds.map(({ kind, found, planted }) => [kind, Math.floor((100 * found) / planted)]);
  return [basename(folder), { recall: Object.fromEntries(recall), changed: changed.length }];
}

function print(/** @type {import("./lines.js").LineJudgement & { folder: string }} */ one) {
  const row = (/** @type {string} */ name, /** @type {number} */ found, /** @type {number} */ planted) => [
    name,
    show(planted),
    show(found),
    `${show((100 * found) / planted, 1)} %`,
  ];
  console.log(
    formatTable({
      title: one.folder,
      columns: ["kind", "planted", "found", "recall"],
      rows: [
        ...one.kinds.map(({ kind, found, planted }) => row(kind, found, planted)),
        row("all", one.found, one.planted),
      ],
      note: `false positives: ${one.changed.length} of ${one.ordinary} ordinary lines changed, ${show((100 * one.changed.length) / one.ordinary, 2)} %`,
    }),
  );
  if (!options.missed) return;
  for (const { kind, missed } of one.kinds) for (const line of missed) console.log(`${kind}\t${JSON.stringify(line)}`);
  for (const { line, after } of one.changed)
    console.log(`changed\t${JSON.stringify(line)} -> ${JSON.stringify(after)}`);
}
