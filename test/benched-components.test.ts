import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { BUILTINS } from "../src/agent/builtins/builtins.js";

interface BenchTables {
  readonly CELLS: Readonly<Record<string, { readonly of: string; readonly base?: string }>>;
  readonly MEASURED_ELSEWHERE: Readonly<Record<string, string>>;
}

const bench = join(import.meta.dirname, "../bench");
const tables = new URL("../bench/components/cells.js", import.meta.url).href;
const { CELLS, MEASURED_ELSEWHERE } = (await import(tables)) as BenchTables;

/** Components that handle telemetry. Extensions see none of it, except those that look at what passes. */
const LOOKING: ReadonlySet<string> = new Set(["insight"]);
const components = BUILTINS.filter(
  ({ kind, types }) => (kind !== "extension" || LOOKING.has(types[0])) && !isIdle(kind, types[0]),
).map(({ kind, types }) => ({
  name: `${kind}/${types[0]}`,
  types,
}));
/** A receiver that receives nothing costs nothing. */
function isIdle(kind: string, type: string): boolean {
  return kind === "receiver" && type === "nop";
}

const names = new Set(components.map(({ name }) => name));
const withCell = new Set(Object.values(CELLS).map(({ of }) => of));

describe("the benchmark", () => {
  it("has a cell for every component that comes with Sluice, or another file that measures it", () => {
    const missing = components.filter(({ name }) => !withCell.has(name) && MEASURED_ELSEWHERE[name] === undefined);
    expect(missing.map(({ name }) => name)).toEqual([]);
  });

  it("names no component that there is not, and none in two places", () => {
    const named = [...withCell, ...Object.keys(MEASURED_ELSEWHERE)];
    expect(named.filter((name) => !names.has(name))).toEqual([]);
    expect(named).toEqual([...new Set(named)]);
  });

  it.each(Object.entries(MEASURED_ELSEWHERE))("measures %s in %s", (name, file) => {
    const { types } = components.find((each) => each.name === name)!;
    const text = readFileSync(join(bench, file), "utf8");
    // As a key or text of a config, or as the module that it is loaded from.
    const spellings = types.flatMap((type) => [type, type.replaceAll("_", "-")]).join("|");
    expect(text).toMatch(new RegExp(`["'\`/ ](${spellings})(["'\`:]|/component\\.js")`));
  });
});
