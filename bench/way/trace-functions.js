import { parseAst } from "rolldown/parseAst";

/**
 * A loader that makes every function of Sluice say its name when it is entered, by `globalThis.entered`. V8's coverage
 * knows which functions ran, but not in which order.
 *
 * @typedef {{ type: string, start: number, end: number, [key: string]: any }} Node
 */
const BUILT = /\/dist\/((?:runtime|agent|receivers|processors|exporters|connectors|extensions)\/.*)\.js$/;

/** @type {import("node:module").LoadHook} */
export async function load(url, context, nextLoad) {
  const loaded = await nextLoad(url, context);
  const file = BUILT.exec(url)?.[1];
  if (file === undefined) return loaded;
  return { ...loaded, source: traced(String(loaded.source), file) };
}

/** @param {string} code @param {string} file @returns {string} */
function traced(code, file) {
  /** @type {{ at: number, text: string }[]} */
  const inserted = [];
  visit(/** @type {any} */ (parseAst(code)), "", (fn, name) => {
    const say = `entered(${JSON.stringify(`src/${file}.ts:${name}`)})`;
    const { body } = fn;
    if (body.type === "BlockStatement") inserted.push({ at: body.start + 1, text: `${say};` });
    else inserted.push({ at: bodyStart(code, fn), text: `(${say},` }, { at: fn.end, text: ")" });
  });
  let text = code;
  for (const { at, text: more } of inserted.sort((a, b) => b.at - a.at))
    text = text.slice(0, at) + more + text.slice(at);
  return text;
}

/** The node of a body in parentheses begins behind them. @param {string} code @param {Node} arrow */
function bodyStart(code, arrow) {
  return code.lastIndexOf("=>", arrow.body.start) + "=>".length;
}

/** Calls back for every function, with its name or that of the variable, property or function around it. @param {any} node @param {string} name @param {(fn: Node, name: string) => void} found */
function visit(node, name, found) {
  if (Array.isArray(node)) for (const each of node) visit(each, name, found);
  if (typeof node?.type !== "string") return;
  const own = nameOf(node) ?? name;
  if (/Function/.test(node.type) && node.body !== null) found(node, own);
  for (const [key, value] of Object.entries(node)) {
    if (value !== null && typeof value === "object" && key !== "parent") visit(value, own, found);
  }
}

/** @param {any} node @returns {string | undefined} */
function nameOf({ type, id, key }) {
  if (type === "MethodDefinition" || type === "PropertyDefinition") return key.name;
  return /^(Function|Class|VariableDeclarator)/.test(type) ? id?.name : undefined;
}
