import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";

interface Exported {
  /** Of the declaration: the same through every door. */
  readonly key: string;
  readonly comment: string | undefined;
  readonly isType: boolean;
}

interface Declarations {
  exportsOf(file: string): ReadonlyMap<string, Exported>;
  groupsOf(file: string): readonly { readonly title: string; readonly names: readonly string[] }[];
}

/** Limits the names in `sluice/plugin`, because a public name is a promise. */
const MAX_PLUGIN_NAMES = 100;
const MAX_PLUGIN_VALUES = 70;

const project = join(import.meta.dirname, "..");
const list = "test/public-names.txt";
const declarations = new URL("../scripts/declarations.js", import.meta.url).href;
const { exportsOf, groupsOf } = (await import(declarations)) as Declarations;

const { exports } = JSON.parse(readFileSync(join(project, "package.json"), "utf8")) as {
  exports: Readonly<Record<string, string | { readonly types: string }>>;
};
const doors = Object.entries(exports).flatMap(([path, target]) => {
  if (typeof target === "string") return [];
  const file = join(project, "src", target.types.replace("./dist/", "").replace(".d.ts", ".ts"));
  return [{ door: join("sluice", path), file, names: exportsOf(file) }];
});
const all = doors.flatMap(({ door, names }) => [...names].map(([name, found]) => ({ door, name, ...found })));
const plugin = all.filter(({ door }) => door === "sluice/plugin");

function linesOf(text: string): string[] {
  return text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
}

describe("the public names", () => {
  it(`are those of ${list}: a change to them is a change to that file`, () => {
    const written = linesOf(readFileSync(join(project, list), "utf8"));
    const present = all.map(({ door, name, isType }) => `${door} ${isType ? "type" : "value"} ${name}`);
    const added = present.filter((line) => !written.includes(line)).sort();
    const removed = written.filter((line) => !present.includes(line)).sort();
    const hint = `add to ${list}:\n${added.join("\n")}\ntake out of it:\n${removed.join("\n")}\n`;
    expect({ added, removed }, hint).toEqual({ added: [], removed: [] });
    expect(written, `${list} has each name once, by door`).toEqual([...new Set(written)].sort());
  });

  it("mean the same through every door", () => {
    const keys = new Map<string, Set<string>>();
    for (const { name, key } of all) {
      if (name !== "default") keys.set(name, (keys.get(name) ?? new Set()).add(key));
    }
    expect([...keys].filter(([, found]) => found.size > 1).map(([name, found]) => [name, ...found])).toEqual([]);
  });

  it("each have a sentence above their declaration", () => {
    const silent = all.filter(({ comment }) => !/^[^a-z@].{12,}[.)`]/s.test(comment ?? ""));
    expect(silent.map(({ door, name }) => `${door} ${name}`)).toEqual([]);
  });

  it(`of sluice/plugin are at most ${MAX_PLUGIN_NAMES}, ${MAX_PLUGIN_VALUES} of them values`, () => {
    expect(plugin.length).toBeLessThanOrEqual(MAX_PLUGIN_NAMES);
    expect(plugin.filter(({ isType }) => !isType).length).toBeLessThanOrEqual(MAX_PLUGIN_VALUES);
  });

  it("of sluice/plugin that make or answer something have an example", () => {
    const wanted = /^(define|each|Batch$|Delivery$|Refusal$|deadLetter$|duration$|secret$|section$)/;
    const without = plugin.filter(({ name, comment }) => wanted.test(name) && !comment?.includes("@example"));
    expect(without.map(({ name }) => name)).toEqual([]);
  });

  it("are grouped by subject in each large door, so that it reads as a table of contents", () => {
    for (const { file, names } of doors.filter(({ names }) => names.size > 10)) {
      const groups = groupsOf(file);
      expect(groups.filter(({ title }) => title === "")).toEqual([]);
      expect(groups.flatMap((group) => group.names)).toHaveLength(names.size);
    }
  });
});

describe("the examples in the comments of public names", () => {
  it("type-check", { timeout: 120_000 }, () => {
    const folder = mkdtempSync(join(tmpdir(), "sluice-examples-"));
    try {
      mkdirSync(join(folder, "node_modules"));
      symlinkSync(project, join(folder, "node_modules", "sluice"));
      for (const name of ["@types", "rxjs", "zod"]) {
        symlinkSync(join(project, "node_modules", name), join(folder, "node_modules", name));
      }
      const examples = new Map(
        all.filter(({ comment }) => comment?.includes("@example")).map((each) => [each.key, each]),
      );
      expect(examples.size).toBeGreaterThan(25);
      for (const { door, name, comment } of examples.values()) {
        writeFileSync(join(folder, `${name}.ts`), exampleModule(door, comment!));
      }
      const compilerOptions = { noUnusedLocals: false, verbatimModuleSyntax: false };
      const config = { extends: join(project, "tsconfig.json"), compilerOptions, include: ["*.ts"] };
      writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
      const tsc = join(project, "node_modules/typescript/bin/tsc");
      expect(spawnSync(process.execPath, [tsc, "-p", folder], { encoding: "utf8" }).stdout).toBe("");
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});

/** The example as a module that imports every name it may mean: those of its own door, and of the one for components. */
function exampleModule(door: string, comment: string): string {
  const example = comment.split(/^@example\n/m)[1]!;
  const words = new Set(example.match(/\b[A-Za-z]\w*/g));
  const known = new Map([...all.filter((each) => each.door === door), ...plugin].map((each) => [each.name, each.door]));
  const imports = [...known]
    .filter(([name]) => words.has(name))
    .map(([name, from]) => `import { ${name} } from "${from}";`);
  const others = ['import { z } from "zod";', 'import { map, Observable } from "rxjs";'];
  return [...imports, ...others, "export const example = () => {", example, "};"].join("\n");
}
