/**
 * The comparison of measured figures with those of the ledger. A figure may rise up to its limit. Nothing is said about
 * figures that fall.
 *
 * @typedef {import("./cells.js").Planned} Planned
 * @typedef {{ name: string, kind: import("./cells.js").Kind, value: number, spread: number }} Measured spread: of its
 *   rounds, relative to the value; 0 for one that repeats
 * @typedef {Measured & { node: string, limit: number }} Cell limit: the highest value that passes
 * @typedef {{ cells: Cell[] }} Ledger
 */

/** Figures that count work repeat to a percent. */
const EXACT = new Set(["allocated", "copied", "functions", "files", "package"]);
const EXACT_RISE = 0.02;
const RISE = 0.15;
/** A figure whose rounds differ by more says too little to be compared with. */
export const MAX_SPREAD = 0.1;

/** @param {Measured} measured @param {string} node its major version @returns {Cell} */
export function toCell({ name, kind, value, spread }, node) {
  const written = rounded(spread);
  const rise = Math.min(written, MAX_SPREAD) + (EXACT.has(kind) ? EXACT_RISE : RISE);
  return { name, kind, node, value, spread: written, limit: rounded(value * (1 + rise)) };
}

const rounded = (/** @type {number} */ value) =>
  Number(value.toPrecision(4 + Math.floor(Math.log10(Math.max(1, value)))));

/** A figure by its name, as in messages. */
export const nameOf = (/** @type {{ name: string, kind: string }} */ { name, kind }) => `${name}, ${kind}`;

/**
 * What is wrong: figures above their limits, and those that were not measured or are not in the ledger.
 *
 * @param {Ledger} ledger @param {readonly Measured[]} measured @param {readonly Planned[]} planned those that should
 *   have been measured @param {string} node @returns {string[]}
 */
export function failuresOf(ledger, measured, planned, node) {
  const find = (/** @type {readonly any[]} */ cells, /** @type {Planned} */ { name, kind }) =>
    cells.find((cell) => cell.name === name && cell.kind === kind);
  const own = ledger.cells.filter((cell) => cell.node === node);
  return planned.flatMap((each) => {
    const [now, before] = [find(measured, each), find(own, each)];
    if (now === undefined) return [`${nameOf(each)} was not measured`];
    if (before === undefined)
      return [`${nameOf(each)} is not in the ledger for Node.js ${node}: npm run ledger -- --write`];
    return isRise(now, before) ? [`${nameOf(each)} ${before.value} -> ${now.value}`] : [];
  });
}

/** Whether a figure is above its limit. Of rounds that differ, three quarters must be above it. */
function isRise(/** @type {Measured} */ { kind, value, spread }, /** @type {Cell} */ { limit }) {
  return value * (EXACT.has(kind) ? 1 : 1 - spread) > limit;
}

/**
 * The figures to be measured again, because they may have risen by chance: one that counts time on a shared machine,
 * or one that counts work if a timer ran.
 *
 * @param {Ledger} ledger @param {readonly Measured[]} measured @param {readonly Planned[]} planned @param {string} node
 * @returns {Planned[]}
 */
export function doubtful(ledger, measured, planned, node) {
  const known = ledger.cells.filter((cell) => cell.node === node);
  return planned.filter((each) => {
    const isIt = (/** @type {Planned | Measured} */ { name, kind }) => name === each.name && kind === each.kind;
    const [now, before] = [measured.find(isIt), known.find(isIt)];
    return now !== undefined && before !== undefined && isRise(now, before);
  });
}

/**
 * The ledger with new figures in place of old ones, without those that nothing measures any more.
 *
 * @param {Ledger} ledger @param {readonly Cell[]} cells @param {readonly Planned[]} planned all there are @returns {Ledger}
 */
export function updated(ledger, cells, planned) {
  const key = (/** @type {Cell} */ { name, kind, node }) => [name, kind, node].join("\n");
  const all = new Map([...ledger.cells, ...cells].map((cell) => [key(cell), cell]));
  const places = new Map(planned.map((each, i) => [nameOf(each), i]));
  const place = (/** @type {Cell} */ cell) => places.get(nameOf(cell)) ?? -1;
  const known = [...all.values()].filter((cell) => place(cell) >= 0);
  return { cells: known.sort((a, b) => Number(a.node) - Number(b.node) || place(a) - place(b)) };
}

/** The rows in which two ledgers differ. @param {Ledger} before @param {Ledger} after @returns {string[][]} */
export function differences(before, after) {
  const key = (/** @type {Cell} */ cell) => `${nameOf(cell)}, Node.js ${cell.node}`;
  const [old, new_] = [before, after].map(({ cells }) => new Map(cells.map((cell) => [key(cell), cell.value])));
  const keys = [...new Set([...old.keys(), ...new_.keys()])].filter((each) => old.get(each) !== new_.get(each));
  return keys.map((each) => [
    each,
    `${old.get(each) ?? "-"}`,
    `${new_.get(each) ?? "-"}`,
    change(old.get(each), new_.get(each)),
  ]);
}

/** By how much a value has changed, in percent. */
export function change(/** @type {number | undefined} */ before, /** @type {number | undefined} */ now) {
  if (before === undefined || now === undefined) return "";
  const percent = before === 0 ? 0 : (now / before - 1) * 100;
  return `${percent > 0 ? "+" : ""}${percent.toFixed(1)} %`;
}
