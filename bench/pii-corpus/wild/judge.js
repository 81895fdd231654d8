import { randomFrom } from "../random.js";
import { LABELLED, PLAIN } from "./contexts.js";
import { KINDS } from "./kinds.js";
import { ordinaryTelemetry } from "./ordinary.js";

/**
 * How many planted values are gone with the default settings, by kind, and how many ordinary lines are changed.
 *
 * @typedef {{ kind: string, isPrefixed: boolean, planted: number, gone: number, left: { line: string, after: string, context: string }[] }} KindRow
 * @typedef {{ kinds: KindRow[], ordinary: number, changed: { line: string, after: string }[] }} WildJudgement
 * @param {(lines: string[]) => string[]} treat @param {{ each: number, ordinary: number, seeds: number[] }} size
 * @returns {WildJudgement}
 */
export function judgeWild(treat, { each, ordinary, seeds }) {
  const plants = seeds.flatMap((seed) => plantedTelemetry(each, seed));
  const after = treat(plants.map(({ line }) => line));
  /** @type {Map<string, KindRow>} */
  const rows = new Map();
  plants.forEach(({ kind, isPrefixed, line, context, secrets }, i) => {
    const row = rows.get(kind) ?? { kind, isPrefixed, planted: 0, gone: 0, left: [] };
    rows.set(kind, row);
    row.planted++;
    const result = /** @type {string} */ (after[i]);
    if (secrets.some((secret) => isLeft(secret, line, result))) row.left.push({ line, after: result, context });
    else row.gone++;
  });
  const lines = seeds.flatMap((seed) => ordinaryTelemetry(ordinary, seed));
  const treated = treat(lines);
  const changed = lines.flatMap((line, i) =>
    treated[i] === line ? [] : [{ line, after: /** @type {string} */ (treated[i]) }],
  );
  return { kinds: [...rows.values()], ordinary: lines.length, changed };
}

/** The lines of every kind in every context that suits it. @param {number} each @param {number} seed */
export function plantedTelemetry(each, seed) {
  const random = randomFrom(seed * 104729 + 7);
  return KINDS.flatMap(({ kind, needsLabel = false, isPrefixed = false, isLine = false, make }) =>
    Array.from({ length: each }, () => {
      const { text, secrets = [text], label, labels = [] } = make(random);
      const called = label ?? (labels.length > 0 ? random.pick(labels) : "value");
      const mustBeCalled = needsLabel || label !== undefined;
      const context = isLine ? LINE : random.pick(mustBeCalled ? LABELLED : random.chance(0.5) ? PLAIN : LABELLED);
      const write = context.write ?? ((/** @type {string} */ one) => one);
      const isWrapped = context.name === "base64";
      return {
        kind,
        isPrefixed,
        context: context.name,
        line: context.put(random, text, called),
        secrets: isWrapped ? [write(text)] : secrets.map(write),
      };
    }),
  );
}

const LINE = { name: "line", put: (/** @type {unknown} */ _, /** @type {string} */ text) => text, write: undefined };

/**
 * Whether so much of the value is left that it could be guessed. Text that is also in the line without the value does
 * not count.
 */
function isLeft(/** @type {string} */ secret, /** @type {string} */ line, /** @type {string} */ after) {
  const size = Math.min(8, Math.max(4, Math.ceil(secret.length * 0.6)));
  const around = line.replaceAll(secret, "\0");
  for (let at = 0; at + size <= secret.length; at++) {
    const part = secret.slice(at, at + size);
    if (after.includes(part) && !around.includes(part)) return true;
  }
  return false;
}
