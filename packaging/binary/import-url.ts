/**
 * In place of src/runtime/host/plugins/import-url.ts. A plugin is a file on disk, and what it imports is looked for beside it;
 * `sluice`, `sluice/plugin`, `sluice/ottl`, `sluice/testing`, `zod` and `rxjs` are inside the executable and are lent to it
 * where it finds none of its own: under an address of its own each is a module that hands on what the executable has.
 */
import module from "node:module";
import process from "node:process";
import { pathToFileURL } from "node:url";
import vm from "node:vm";
import * as rxjs from "rxjs";
import * as zod from "zod";
import * as embed from "../../src/index.js";
import * as ottl from "../../src/ottl.js";
import * as plugin from "../../src/plugin.js";
import * as testing from "../../src/testing.js";

export type PluginModule = Readonly<Record<string, unknown>>;

const LENT: Readonly<Record<string, PluginModule>> = {
  sluice: embed,
  "sluice/ottl": ottl,
  "sluice/plugin": plugin,
  "sluice/testing": testing,
  zod,
  rxjs,
};

let importer: ((url: string) => Promise<PluginModule>) | undefined;

export async function importUrl(url: string): Promise<PluginModule> {
  importer ??= makeImporter();
  const load = importer;
  return quietly(() => load(url));
}

/** The main program of an executable has no import() of its own; a script with the main loader has. */
function makeImporter(): (url: string) => Promise<PluginModule> {
  lend();
  const loader = { importModuleDynamically: vm.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER };
  return new vm.Script("(url) => import(url)", loader).runInThisContext();
}

function lend(): void {
  Object.defineProperty(globalThis, Symbol.for("sluice.lent"), { value: LENT });
  const names = Object.fromEntries(Object.entries(LENT).map(([name, exports]) => [name, Object.keys(exports)]));
  const here = pathToFileURL(process.execPath).href;
  module.register(`data:text/javascript,${encodeURIComponent(HOOKS)}`, here, { data: names });
}

/** Without the warning that Node.js 20 has for this loader. */
function quietly<Result>(work: () => Result): Result {
  const { emitWarning } = process;
  process.emitWarning = () => {};
  try {
    return work();
  } finally {
    process.emitWarning = emitWarning;
  }
}

/** Runs in the loader's own thread, so it is a text. */
const HOOKS = `
let names;
export function initialize(data) {
  names = data;
}
export async function resolve(specifier, context, next) {
  try {
    return await next(specifier, context);
  } catch (error) {
    if (error.code !== "ERR_MODULE_NOT_FOUND" || !Object.hasOwn(names, specifier)) throw error;
    return { url: "sluice-lent:" + specifier, format: "module", shortCircuit: true };
  }
}
export async function load(url, context, next) {
  if (!url.startsWith("sluice-lent:")) return next(url, context);
  const name = url.slice("sluice-lent:".length);
  // Not every name is one for a variable: zod has a catch.
  const lines = names[name].map((each, i) => "const lent" + i + " = lent." + each + "; export { lent" + i + " as " + each + " };");
  const lent = "const lent = globalThis[Symbol.for('sluice.lent')][" + JSON.stringify(name) + "];";
  return { format: "module", source: [lent, ...lines].join("\\n"), shortCircuit: true };
}
`;
