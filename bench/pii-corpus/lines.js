import { readFileSync } from "node:fs";
import { join } from "node:path";

/**
 * Judges the processor pii on a folder with the files planted.jsonl and ordinary.jsonl. A line of either is a log line
 * (`text`) or an attribute (`key` and `value`). Planted lines name the sensitive values in them.
 *
 * @typedef {{ text?: string, key?: string, value?: string | number }} Line
 * @typedef {Line & { values: { kind: string, text: string }[] }} PlantedLine
 * @typedef {{ kind: string, planted: number, found: number, missed: string[] }} KindRow
 * @typedef {{ kinds: KindRow[], planted: number, found: number, ordinary: number, changed: { line: string, after: string }[] }} LineJudgement
 * @typedef {Pick<typeof import("../../dist/plugin.js"), "batchFromJson" | "readRecords">} Telemetry
 */

/** These kinds belong to the strict profile only. */
const STRICT_KINDS = new Set(["person_name", "address"]);

/**
 * @param {string} folder @param {(lines: Line[]) => string[]} treat @param {boolean} isStrict
 * @returns {LineJudgement}
 */
export function judgeFolder(folder, treat, isStrict) {
  const planted = /** @type {PlantedLine[]} */ (readLines(join(folder, "planted.jsonl")));
  const ordinary = readLines(join(folder, "ordinary.jsonl"));
  const after = treat(planted);
  /** @type {Map<string, KindRow>} */
  const rows = new Map();
  planted.forEach((line, i) => {
    const kept = keptCharacters(textOf(line), /** @type {string} */ (after[i]));
    for (const { kind, text } of line.values) {
      if (STRICT_KINDS.has(kind) && !isStrict) continue;
      const row = rows.get(kind) ?? { kind, planted: 0, found: 0, missed: [] };
      rows.set(kind, row);
      row.planted++;
      if (isGone(textOf(line), text, kept)) row.found++;
      else row.missed.push(`${show(line)}   [${text}]`);
    }
  });
  const treated = treat(ordinary);
  const changed = ordinary.flatMap((line, i) =>
    treated[i] === textOf(line) ? [] : [{ line: show(line), after: /** @type {string} */ (treated[i]) }],
  );
  const kinds = [...rows.values()].sort((a, b) => a.kind.localeCompare(b.kind));
  const sum = (/** @type {"planted" | "found"} */ name) => kinds.reduce((all, row) => all + row[name], 0);
  return { kinds, planted: sum("planted"), found: sum("found"), ordinary: ordinary.length, changed };
}

/** @returns {Line[]} */
function readLines(/** @type {string} */ file) {
  return readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line));
}

function textOf(/** @type {Line} */ { text, value }) {
  return text ?? String(value);
}

function show(/** @type {Line} */ line) {
  return line.key === undefined ? textOf(line) : `${line.key}: ${textOf(line)}`;
}

/** The fixed text that takes the place of a treated value. */
const MASK = "****";

/**
 * Whether each character of the text is still there after treatment. The parts between masks are found again in the
 * text from left to right; the last part is at its end.
 */
function keptCharacters(/** @type {string} */ text, /** @type {string} */ after) {
  const kept = new Uint8Array(text.length);
  if (after === text) return kept.fill(1);
  if (text.includes(MASK)) return alignedCharacters(text, after);
  const parts = after.split(MASK);
  let from = 0;
  for (const [i, part] of parts.entries()) {
    const at = i === parts.length - 1 ? text.length - part.length : text.indexOf(part, from);
    if (at < from) return kept.fill(1);
    kept.fill(1, at, at + part.length);
    from = at + part.length;
  }
  return kept;
}

/** The same for a text that has masks of its own: of all alignments, the one that keeps the most characters. */
function alignedCharacters(/** @type {string} */ text, /** @type {string} */ after) {
  const width = after.length + 1;
  const best = new Int32Array((text.length + 1) * width).fill(-1);
  /**
   * The next step of the best alignment: 1 keeps a character, 2 replaces one by a mask, 3 lets the mask replace one
   * more.
   */
  const step = new Uint8Array(best.length);
  best[best.length - 1] = 0;
  for (let i = text.length - 1; i >= 0; i--) {
    for (let j = after.length; j >= 0; j--) {
      const at = i * width + j;
      const take = (/** @type {number} */ value, /** @type {number} */ how) => {
        if (value > /** @type {number} */ (best[at])) [best[at], step[at]] = [value, how];
      };
      const next = (/** @type {number} */ k) => /** @type {number} */ (best[(i + 1) * width + k]);
      if (text[i] === after[j] && next(j + 1) >= 0) take(next(j + 1) + 1, 1);
      if (after.startsWith(MASK, j)) {
        if (next(j + MASK.length) >= 0) take(next(j + MASK.length), 2);
        if (next(j) >= 0 && step[(i + 1) * width + j] !== 1) take(next(j), 3);
      }
    }
  }
  const kept = new Uint8Array(text.length);
  for (let i = 0, j = 0; i < text.length; i++) {
    const how = step[i * width + j];
    if (how === 1) kept[i] = 1;
    if (how === 1) j++;
    else if (how === 2) j += MASK.length;
  }
  return kept;
}

/**
 * Whether no more than an eighth of the letters and digits of an occurrence is left. The scheme, host and path of a URL
 * may stay in front of its secret.
 */
function isGone(/** @type {string} */ text, /** @type {string} */ value, /** @type {Uint8Array} */ kept) {
  const isUrl = /^https?:\/\//.test(value);
  for (let at = text.indexOf(value); at >= 0; at = text.indexOf(value, at + 1)) {
    let left = 0;
    let from = at;
    if (isUrl) while (from < at + value.length / 2 + 12 && kept[from] === 1) from++;
    for (let i = from; i < at + value.length; i++)
      if (kept[i] === 1 && /[\p{L}\p{N}]/u.test(value[i - at] ?? "")) left++;
    if (left <= value.length / 8) return true;
  }
  return false;
}

/**
 * Passes lines through a treatment: log lines as bodies, the others as attributes of log records.
 *
 * @param {Telemetry} telemetry @param {{ treat(batch: any): any }} treatment
 */
export function linesThrough({ batchFromJson, readRecords }, treatment) {
  return (/** @type {Line[]} */ lines) => {
    const logRecords = lines.map(({ text, key, value }) =>
      key === undefined
        ? { body: { stringValue: text } }
        : { attributes: [{ key, value: typeof value === "number" ? { intValue: value } : { stringValue: value } }] },
    );
    const batch = batchFromJson("logs", JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] }));
    /** @type {string[]} */
    const results = [];
    readRecords(treatment.treat(batch), (record) => {
      if (record.signal !== "logs") return;
      const { key } = /** @type {Line} */ (lines[results.length]);
      results.push(String(key === undefined ? record.body : record.attributes.get(key)));
    });
    return results;
  };
}
