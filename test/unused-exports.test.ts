import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { describe, expect, it } from "vitest";

/** Where a name of `src/` may be used. */
const USERS = ["src", "test", "console", "scripts", "bench", "docs", "packaging", "examples", "bin"];
const SOURCE_FILE = /\.(?:[cm]?[jt]sx?|md)$/;
const DECLARATION =
  /^export (?:declare )?(?:abstract )?(?:async )?(?:function\*?|const|let|class|interface|type|enum) (\w+)/gm;
const IMPORT =
  /\b(?<keyword>import|export)\b(?<clause>[^;"'()]*?)\bfrom\s*"(?<specifier>[^"]+)"|\bimport\(\s*"(?<lazy>[^"]+)"\s*\)/g;
/** A file that is read as text, or run as it is: a program, a worker, the subject of a test of the build. */
const ANY_NAME = "*";

const project = join(import.meta.dirname, "..");
const { imports } = JSON.parse(readFileSync(join(project, "package.json"), "utf8")) as {
  imports: Readonly<Record<string, string | { "sluice-source"?: string }>>;
};

/** The files of the project, by their paths. */
function textsOfFiles(): ReadonlyMap<string, string> {
  const paths = USERS.flatMap((folder) =>
    readdirSync(join(project, folder), { recursive: true, encoding: "utf8" }).map((path) => join(folder, path)),
  );
  const sources = paths.filter((path) => SOURCE_FILE.test(path) && !path.includes("node_modules"));
  return new Map(sources.map((path) => [path.replaceAll("\\", "/"), readFileSync(join(project, path), "utf8")]));
}

/** The file of `src/` that an import leads to, also by its built copy in `dist/`. */
function targetOf(file: string, specifier: string): string | undefined {
  if (specifier.startsWith("#")) {
    const found = imports[specifier] ?? imports["#*"]!;
    return typeof found === "string" ? undefined : found["sluice-source"]!.slice(2).replace("*", specifier.slice(1));
  }
  if (!specifier.startsWith(".")) return undefined;
  const path = relative(project, join(project, dirname(file), specifier)).replaceAll("\\", "/");
  return path.replace(/^dist\//, "src/").replace(/\.js$/, ".ts");
}

/** The names that a file takes from others, as `file name`; a lazy import may take any name that the text has. */
function namesUsedBy(file: string, text: string): string[] {
  return [...text.matchAll(IMPORT)].flatMap(({ groups }) => {
    const { clause = "", specifier, lazy } = groups!;
    const target = targetOf(file, (specifier ?? lazy)!);
    if (target === undefined) return [];
    return (lazy === undefined ? namesIn(clause) : wordsOf(text)).map((name) => `${target} ${name}`);
  });
}

function namesIn(clause: string): string[] {
  const list = /\{([^}]*)\}/.exec(clause)?.[1];
  if (list === undefined) return [ANY_NAME];
  return list.split(",").map((each) =>
    each
      .trim()
      .replace(/^type /, "")
      .replace(/ as .*/s, ""),
  );
}

function wordsOf(text: string): string[] {
  return [...new Set(text.match(/\w+/g))];
}

/** The exported names that no other file uses, as `file name`. */
function unusedExports(files: ReadonlyMap<string, string>): string[] {
  const used = new Set([...files].flatMap(([file, text]) => namesUsedBy(file, text)));
  return [...files]
    .filter(([file]) => file.startsWith("src/") && !file.endsWith(".generated.ts") && !used.has(`${file} ${ANY_NAME}`))
    .flatMap(([file, text]) => [...text.matchAll(DECLARATION)].map(([, name]) => `${file} ${name}`))
    .filter((name) => !used.has(name));
}

describe("an export", () => {
  it("is there for another file", () => {
    expect(unusedExports(textsOfFiles())).toEqual([]);
  });

  it("is found if only its own file uses it", () => {
    const files = new Map([
      ["src/a.ts", "export const own = 1;\nexport function taken() {}\nexport class Lazy {}\nexport type Handed = 1;"],
      ["src/b.ts", 'import { type Other, taken as other } from "./a.js";\nconst { Lazy } = await import("./a.js");'],
      ["src/door.ts", 'export { type Handed } from "./a.js";'],
    ]);
    expect(unusedExports(files)).toEqual(["src/a.ts own"]);
  });
});
