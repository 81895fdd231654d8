import { beforeAll, describe, expect, it } from "vitest";
import { type LoadAnswer, type LoadCase, loadCases, withPlugins } from "./load-cases.js";

const processor = (type: string, more = "") => `
import { defineProcessor, eachRecord } from "sluice/plugin";
export default defineProcessor({ type: "${type}", ${more} create: () => eachRecord(() => "keep") });
`;
const handWritten = (fields: string) => `export default { kind: "processor", type: "mine", ${fields} };`;
const pack = (name: string, fields: Record<string, unknown>, code: string) => ({
  [`node_modules/${name}/package.json`]: JSON.stringify({ name, type: "module", ...fields }),
  [`node_modules/${name}/index.js`]: code,
});
const strict = `
import { defineProcessor, eachRecord } from "sluice/plugin";
import { z } from "zod";
export default defineProcessor({
  type: "mine",
  schema: z.strictObject({ key: z.string(), limit: z.number().default(3) }),
  create: () => eachRecord(() => "keep"),
});
`;
/** A schema of a library that knows nothing of zod. */
const standard = `
import { defineProcessor, eachRecord } from "sluice/plugin";
const schema = { "~standard": { version: 1, vendor: "own", validate: (value) =>
  typeof value.key === "string" ? { value } : { issues: [{ message: "key must be text", path: [{ key: "key" }] }] } } };
export default defineProcessor({ type: "mine", schema, create: () => eachRecord(() => "keep") });
`;

/** The types of the loaded plugins, or a problem as `code line:column path`, with words of its message. */
type Expected = { readonly types: readonly string[] } | { readonly problem: string; readonly words: RegExp };

const CASES: Readonly<Record<string, LoadCase & { readonly expected: Expected }>> = {
  "a file beside the config": {
    yaml: withPlugins("[./p.js]", "{mine: {any: 1}}", "[mine]"),
    files: { "p.js": processor("mine") },
    expected: { types: ["processor mine"] },
  },
  "a file that compiles OTTL, with nothing installed beside it": {
    yaml: withPlugins("[./p.js]", "{mine: }", "[mine]"),
    files: {
      "p.js": `import { compileConditions } from "sluice/ottl";
import { defineProcessor, eachBatch } from "sluice/plugin";
const errors = compileConditions("logs", "log.severity_number >= SEVERITY_NUMBER_ERROR");
export default defineProcessor({ type: "mine", signals: ["logs"], create: () => eachBatch((batch) => errors.keep(batch)) });`,
    },
    expected: { types: ["processor mine"] },
  },
  "a CommonJS file": {
    yaml: withPlugins("[./p.cjs]", "{mine: }", "[mine]"),
    files: {
      "p.cjs": `const schema = { _zod: { def: { type: "any" } }, safeParse: (data) => ({ success: true, data }) };
exports.mine = { kind: "processor", type: "mine", contract: 1, signals: ["logs"], summary: "", schema, create() {} };`,
    },
    expected: { types: ["processor mine"] },
  },
  "a package listed": {
    yaml: withPlugins("[my-package]", "{mine/second: }", "[mine/second]"),
    files: pack("my-package", { exports: { ".": { import: "./index.js" } } }, processor("mine")),
    expected: { types: ["processor mine"] },
  },
  "a scoped package with main": {
    yaml: withPlugins('["@acme/plugin"]', "{mine: }", "[mine]"),
    files: pack("@acme/plugin", { main: "index.js" }, processor("mine")),
    expected: { types: ["processor mine"] },
  },
  "a linked package whose own folder has no Sluice": {
    yaml: withPlugins("[linked]", "{mine: }", "[mine]"),
    files: {
      "../linked-from-here/package.json": '{"name":"linked","type":"module","main":"index.js"}',
      "../linked-from-here/index.js": processor("mine"),
      "node_modules/sluice/package.json": '{"name":"sluice","type":"module","exports":{"./plugin":"./plugin.js"}}',
      "node_modules/sluice/plugin.js": "throw new Error('what is beside the link is not for the package');",
    },
    links: { "node_modules/linked": "../linked-from-here" },
    expected: { types: ["processor mine"] },
  },
  "one file by two names, and one that passes it on": {
    yaml: withPlugins("[./p.js, ./linked.js, ./index.js]", "{mine: }", "[mine]"),
    files: { "p.js": processor("mine"), "index.js": 'export { default } from "./p.js";' },
    links: { "linked.js": "p.js" },
    expected: { types: ["processor mine"] },
  },
  "a package in a folder above": {
    yaml: withPlugins("[my-package/extra]", "{mine: }", "[mine]"),
    files: {
      ...pack("my-package", { exports: { "./extra": "./extra.js" } }, ""),
      "node_modules/my-package/extra.js": processor("mine"),
    },
    expected: { types: ["processor mine"] },
  },
  "a package found by a type's name": {
    yaml: withPlugins("", "{geo_ip: }", "[geo_ip]"),
    files: pack("sluice-processor-geo-ip", { keywords: ["sluice-plugin"] }, processor("geo_ip")),
    expected: { types: ["processor geo_ip"] },
  },
  "a package that is called like the type": {
    yaml: withPlugins("", "{my-thing: }", "[my-thing]"),
    files: pack("my-thing", { keywords: ["sluice-plugin"] }, processor("my-thing")),
    expected: { types: ["processor my-thing"] },
  },
  "several components in one file, by default and by name": {
    yaml: withPlugins("[./p.js]", "{one: , two: , three: }", "[one, two, three]"),
    files: {
      "p.js": `import { defineProcessor, eachRecord } from "sluice/plugin";
const create = () => eachRecord(() => "keep");
const one = defineProcessor({ type: "one", create });
export const three = defineProcessor({ type: "three", create });
export { one };
export default [one, defineProcessor({ type: "two", create })];
export const helper = () => 1;`,
    },
    expected: { types: ["processor one", "processor two", "processor three"] },
  },
  "a schema of another library": {
    yaml: withPlugins("[./p.js]", "{mine: {key: 1}}", "[mine]"),
    files: { "p.js": standard },
    expected: { problem: "wrong_value 3:26 processors.mine.key", words: /key must be text/ },
  },
  "config that a plugin's schema does not know": {
    yaml: withPlugins("[./p.js]", "{mine: {key: a, limt: 4}}", "[mine]"),
    files: { "p.js": strict },
    expected: { problem: "unknown_key 3:29 processors.mine.limt", words: /unknown key "limt"/ },
  },
  "config that a plugin's schema misses": {
    yaml: withPlugins("[./p.js]", "{mine: {limit: x}}", "[mine]"),
    files: { "p.js": strict.replace("key: z.string(), ", "") },
    expected: { problem: "wrong_type 3:28 processors.mine.limit", words: /expected a number, got the text "x"/ },
  },
  "a file that is not there": {
    yaml: withPlugins("[./plugn.js]"),
    files: { "plugin.js": processor("mine") },
    expected: { problem: "plugin_not_found 1:11 plugins.0", words: /no file .*plugn\.js.*did you mean "plugin.js"/ },
  },
  "a URL that is none of a file here": {
    yaml: withPlugins('["file://elsewhere/plugin.js"]'),
    expected: { problem: "plugin_not_found 1:11 plugins.0", words: /File URL host must be/ },
  },
  "a path that the file system does not take": {
    yaml: withPlugins(String.raw`["./a\0.js"]`),
    expected: { problem: "plugin_not_found 1:11 plugins.0", words: /without null bytes/ },
  },
  "a path that is too long": {
    yaml: withPlugins(`[./${"a".repeat(5000)}.js]`),
    expected: { problem: "plugin_not_found 1:11 plugins.0", words: /ENAMETOOLONG/ },
  },
  "a module that throws what has no words": {
    yaml: withPlugins("[./p.js]"),
    files: { "p.js": "throw Object.create(null);" },
    expected: {
      problem: "plugin_failed 1:11 plugins.0",
      words: /threw while it was loaded: a value without a message/,
    },
  },
  "a module that throws an error nobody can read": {
    yaml: withPlugins("[./p.js]"),
    files: { "p.js": 'throw Object.defineProperty(new Error(), "message", { get() { throw new Error("no"); } });' },
    expected: {
      problem: "plugin_failed 1:11 plugins.0",
      words: /threw while it was loaded: a value without a message/,
    },
  },
  "an export that throws when it is looked at": {
    yaml: withPlugins("[./p.js]"),
    files: { "p.js": 'export default { kind: "processor", get type() { throw new Error("bang"); }, create() {} };' },
    expected: { problem: "plugin_component 1:11 plugins.0", words: /throws when it is inspected: bang/ },
  },
  "aliases that are no list": {
    yaml: withPlugins("[./p.js]"),
    files: { "p.js": processor("mine", 'aliases: "batch",') },
    expected: { problem: "plugin_component 1:11 plugins.0", words: /whose aliases are "batch"; expected a list/ },
  },
  "a connector between signals that do not exist": {
    yaml: withPlugins("[./p.js]"),
    files: {
      "p.js": `import { defineConnector } from "sluice/plugin";
export default defineConnector({ type: "mine", routes: [{ from: "logs", to: "log" }], create() {} });`,
    },
    expected: { problem: "plugin_component 1:11 plugins.0", words: /the connector "mine" for "log"; signals are/ },
  },
  "a schema that throws": {
    yaml: withPlugins("[./p.js]", "{mine: {key: a}}", "[mine]"),
    files: { "p.js": strict.replace("z.string()", 'z.any().transform(() => { throw new Error("bang"); })') },
    expected: { problem: "schema_failed 3:14 processors.mine", words: /the component's schema failed: bang/ },
  },
  "a schema that is asynchronous": {
    yaml: withPlugins("[./p.js]", "{mine: {key: a}}", "[mine]"),
    files: { "p.js": strict.replace("z.string()", "z.string().refine(async () => true)") },
    expected: { problem: "schema_failed 3:14 processors.mine", words: /asynchronous schemas are not supported/ },
  },
  "a schema of another library that answers nothing": {
    yaml: withPlugins("[./p.js]", "{mine: {key: 1}}", "[mine]"),
    files: { "p.js": standard.replace("validate: (value) =>", "validate: (value) => value.key ? undefined :") },
    expected: { problem: "schema_failed 3:14 processors.mine", words: /the component's schema failed/ },
  },
  "a schema that throws when it is looked at": {
    yaml: withPlugins("[./p.js]", "{mine: {key: a}}", "[mine]"),
    files: { "p.js": strict.replace("z.string()", 'z.lazy(() => { throw new Error("bang"); })') },
    expected: { problem: "plugin_component 1:11 plugins.0", words: /throws when it is inspected: bang/ },
  },
  "a default that throws": {
    yaml: withPlugins("[./p.js]", "{mine: {key: a}}", "[mine]"),
    files: { "p.js": strict.replace("default(3)", 'default(() => { throw new Error("bang"); })') },
    expected: { problem: "schema_failed 3:14 processors.mine", words: /the component's schema failed: bang/ },
  },
  "a folder": {
    yaml: withPlugins("[./mine]"),
    files: { "mine/index.js": processor("mine") },
    expected: { problem: "plugin_not_found 1:11 plugins.0", words: /is a folder.*name the file in it/ },
  },
  "a package that is not installed": {
    yaml: withPlugins("[nop-plugin]"),
    expected: { problem: "plugin_not_found 1:11 plugins.0", words: /no package "nop-plugin".*npm install nop-plugin/ },
  },
  "a path without its dot": {
    yaml: withPlugins("[plugin.js]"),
    files: { "plugin.js": processor("mine") },
    expected: { problem: "plugin_not_found 1:11 plugins.0", words: /a path begins with a dot: \.\/plugin\.js/ },
  },
  "a package that was not built": {
    yaml: withPlugins("[raw]"),
    files: pack("raw", { exports: "./dist/index.js" }, ""),
    expected: { problem: "plugin_not_found 1:11 plugins.0", words: /no code to load.*npm run build/ },
  },
  "a module of Node.js": {
    yaml: withPlugins('["node:fs"]'),
    expected: { problem: "plugin_not_found 1:11 plugins.0", words: /no package "node:fs"/ },
  },
  "no component": {
    yaml: withPlugins("[./p.js]"),
    files: { "p.js": "export default (record) => record; export const x = 1;" },
    expected: {
      problem: "plugin_component 1:11 plugins.0",
      words: /exports no component, only default \(a function\), x \(a number\); expected .*defineProcessor/,
    },
  },
  "nothing at all": {
    yaml: withPlugins("[./p.js]"),
    files: { "p.js": "export {};" },
    expected: { problem: "plugin_component 1:11 plugins.0", words: /export default defineProcessor/ },
  },
  "two components of one type": {
    yaml: withPlugins("[./p.js]"),
    files: { "p.js": `${processor("mine")} export const b = defineProcessor({ type: "mine", create() {} });` },
    expected: { problem: "plugin_component 1:11 plugins.0", words: /two components as processor "mine".*another type/ },
  },
  "a type that another plugin has": {
    yaml: withPlugins("[./p.js, ./q.js]"),
    files: { "p.js": processor("mine"), "q.js": processor("mine") },
    expected: { problem: "plugin_type_taken 1:19 plugins.1", words: /is in the plugin "\.\/p\.js"/ },
  },
  "a type that comes with Sluice": {
    yaml: withPlugins("[./p.js]"),
    files: { "p.js": processor("batch") },
    expected: {
      problem: "plugin_type_taken 1:11 plugins.0",
      words: /another processor called "batch" comes with Sluice/,
    },
  },
  "an alias that comes with Sluice": {
    yaml: withPlugins("[./p.js]"),
    files: { "p.js": processor("mine", 'aliases: ["filter"],') },
    expected: { problem: "plugin_type_taken 1:11 plugins.0", words: /called "filter" comes with Sluice/ },
  },
  "another contract": {
    yaml: withPlugins("[./p.js]"),
    files: { "p.js": handWritten("contract: 99, create() {}") },
    expected: { problem: "plugin_contract 1:11 plugins.0", words: /built for contract 99.*update Sluice/ },
  },
  "no contract": {
    yaml: withPlugins("[./p.js]"),
    files: { "p.js": handWritten("create() {}") },
    expected: { problem: "plugin_component 1:11 plugins.0", words: /without a contract; make it with defineProcessor/ },
  },
  "a type that is no type": {
    yaml: withPlugins("[./p.js]"),
    files: { "p.js": processor("a b") },
    expected: { problem: "plugin_component 1:11 plugins.0", words: /whose type is "a b"/ },
  },
  "a create that is no function": {
    yaml: withPlugins("[./p.js]"),
    files: { "p.js": handWritten("contract: 1, create: 3") },
    expected: { problem: "plugin_component 1:11 plugins.0", words: /whose create is a number/ },
  },
  "a throw on import": {
    yaml: withPlugins("[./p.js]"),
    files: { "p.js": "\nthrow new Error('no database');" },
    expected: { problem: "plugin_failed 1:11 plugins.0", words: /threw .* Error: no database \(\S*p\.js:2:7\)/ },
  },
  "code that cannot be parsed": {
    yaml: withPlugins("[./p.mjs]"),
    files: { "p.mjs": "export default ;" },
    expected: { problem: "plugin_failed 1:11 plugins.0", words: /cannot be read: SyntaxError.*node --check .*p\.mjs/ },
  },
  "an import of a package that is missing": {
    yaml: withPlugins("[./p.js]"),
    files: { "p.js": 'import "left-padding";' },
    expected: {
      problem: "plugin_import 1:11 plugins.0",
      words: /imports "left-padding", which cannot be found from .*p\.js.*npm install left-padding/,
    },
  },
  "an import of a file that is missing": {
    yaml: withPlugins("[./p.js]"),
    files: { "p.js": 'import "./helper.js";' },
    expected: { problem: "plugin_import 1:11 plugins.0", words: /imports ".*helper\.js", which cannot be found/ },
  },
  "plugins that are no list": {
    yaml: withPlugins("./p.js"),
    expected: { problem: "wrong_type 1:10 plugins", words: /expected a list .*write a list: \[\.\/p\.js\]/ },
  },
  "a plugin that is no text": {
    yaml: withPlugins("[{name: x}]"),
    expected: { problem: "wrong_type 1:11 plugins.0", words: /expected the name of a package or the path of a file/ },
  },
  "a package found by name that lacks the type": {
    yaml: withPlugins("", "{geo_ip: }", "[]"),
    files: pack("sluice-plugin-geo-ip", { keywords: ["sluice-plugin"] }, processor("geo")),
    expected: {
      problem: "plugin_component 3:14 processors.geo_ip",
      words: /has no processor "geo_ip", only the processor "geo"/,
    },
  },
};

const typescript = /^v(2[3-9]|22\.(1[89]|[2-9]\d))/.test(process.version);

let answers: Record<string, LoadAnswer>;
beforeAll(async () => {
  answers = await loadCases({
    ...CASES,
    typescript: {
      yaml: withPlugins("[./p.ts]", "{mine: }", "[mine]"),
      files: { "p.ts": `${processor("mine")} type A = 1;` },
    },
    unlisted: {
      yaml: withPlugins("", "{express: }", "[express]"),
      files: pack("express", {}, "throw new Error('was run')"),
    },
    extra: { yaml: withPlugins("", "{}", "[]"), plugins: ["./test/runtime/plugins/missing.js"] },
  });
});

const brief = ({ code, place, path }: LoadAnswer["problems"][number]) =>
  `${code} ${place?.line}:${place?.column} ${path}`;

describe("loading plugins", () => {
  it.each(Object.keys(CASES))("answers for %s", (name) => {
    const { expected } = CASES[name]!;
    const { valid, problems, types } = answers[name]!;
    const words = problems.map(({ message, suggestion = "" }) => `${message} ${suggestion}`);
    if ("types" in expected)
      expect({ problems: words, types, valid }).toEqual({ problems: [], types: expected.types, valid: true });
    else {
      expect(problems.map(brief)).toEqual([expected.problem]);
      expect(words[0]).toMatch(expected.words);
      expect(valid).toBe(false);
    }
  });

  it("loads TypeScript where Node.js can, and says what to do where it cannot", () => {
    const { problems, types } = answers["typescript"]!;
    if (typescript) expect({ problems, types }).toEqual({ problems: [], types: ["processor mine"] });
    else {
      expect(problems.map(brief)).toEqual(["plugin_typescript 1:11 plugins.0"]);
      expect(problems[0]!.message).toContain(`Node.js ${process.versions.node} does not load`);
      expect(problems[0]!.suggestion).toContain("Node.js 22.18");
    }
  });

  it("does not run a package that does not call itself a plugin, but points it out", () => {
    const { problems } = answers["unlisted"]!;
    expect(problems.map(brief)).toEqual([
      "plugin_not_listed 3:14 processors.express",
      "unknown_component 3:14 processors.express",
    ]);
  });

  it("reports what was asked for beside the config without a place", () => {
    expect(answers["extra"]!.problems.map(brief)).toEqual(["plugin_not_found undefined:undefined "]);
  });
});
