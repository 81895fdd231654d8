import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";

const project = join(import.meta.dirname, "..");
const read = (path: string) => readFileSync(join(project, path), "utf8");
const manifest = JSON.parse(read("package.json")) as {
  readonly version: string;
  readonly engines: { readonly node: string };
  readonly scripts: Readonly<Record<string, string>>;
};
const scripts = Object.keys(manifest.scripts);
const npmScripts = (text: string) => text.match(/(?<=npm (?:run )?)(?!run |(?:ci|pack|publish)\b)[a-z][\w:-]*/g) ?? [];
/** npm runs it after `npm install`. */
const CALLED_BY_NPM = ["prepare"];

describe("the scripts of package.json", () => {
  it("are all shown in README, CONTRIBUTING or its pages", () => {
    const pages = [
      "README.md",
      "CONTRIBUTING.md",
      "docs/contributing/tests.md",
      "docs/contributing/generated-files.md",
    ];
    const shown = pages.flatMap((page) => npmScripts(read(page)));
    expect(scripts.filter((name) => !CALLED_BY_NPM.includes(name) && !shown.includes(name))).toEqual([]);
  });

  it("have no hooks before or after them", () => {
    const hooks = scripts.filter(
      (name) => scripts.includes(name.replace(/^(pre|post)/, "")) && /^(pre|post)/.test(name),
    );
    expect(hooks).toEqual([]);
  });
});

describe("CHANGELOG.md", () => {
  const text = read("CHANGELOG.md");

  it("begins with the version of package.json", () => {
    expect(/^## \[(.+?)\] - (unreleased|\d{4}-\d\d-\d\d)$/m.exec(text)![1]).toBe(manifest.version);
  });

  it("has the sections of Keep a Changelog", () => {
    const sections = new Set(text.match(/(?<=^### ).+$/gm)!);
    expect([...sections].filter((name) => !/^(Added|Changed|Deprecated|Removed|Fixed|Security)$/.test(name))).toEqual(
      [],
    );
  });
});

interface Workflow {
  readonly jobs: Readonly<
    Record<
      string,
      {
        readonly strategy?: { readonly matrix: { readonly node: readonly number[] } };
        readonly steps: readonly { readonly run?: string }[];
      }
    >
  >;
}

describe(".github", () => {
  it("pins every action by its commit, and says its version", () => {
    const folder = join(project, ".github/workflows");
    const lines = readdirSync(folder).flatMap((name) => read(`.github/workflows/${name}`).split("\n"));
    const uses = lines.filter((line) => /^\s*(?:- )?["']?uses["']?\s*:/.test(line));
    expect(uses).not.toEqual([]);
    expect(
      uses.filter((line) => !/^\s*(?:- )?uses: [\w.-]+\/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(line)),
    ).toEqual([]);
  });

  const jobsOf = (name: string) => Object.values((parse(read(`.github/workflows/${name}.yaml`)) as Workflow).jobs);
  const jobs = jobsOf("test");
  const commands = [...jobs, ...jobsOf("release")].flatMap(({ steps }) => steps.map(({ run }) => run ?? ""));

  it("runs npm scripts that exist", () => {
    const called = commands.flatMap(npmScripts);
    expect(called).toEqual(expect.arrayContaining(["check", "test", "test:extended", "test:laws", "fuzz"]));
    expect(called.filter((name) => !scripts.includes(name))).toEqual([]);
  });

  it("runs programs of this repository that exist", () => {
    const called = commands.flatMap((command) => command.match(/(?<=node )scripts\/[\w-]+\.js/g) ?? []);
    expect(called).toContain("scripts/try-package.js");
    expect(called.filter((file) => !existsSync(join(project, file)))).toEqual([]);
  });

  it("tests on the oldest supported Node.js, and newer ones", () => {
    const versions = jobs.flatMap(({ strategy }) => strategy?.matrix.node ?? []);
    expect(versions).toEqual([20, 22, 24]);
    expect(manifest.engines.node).toMatch(/^>=20\./);
  });

  it("has issue forms that GitHub can read", () => {
    for (const file of readdirSync(join(project, ".github/ISSUE_TEMPLATE")).filter((name) => name !== "config.yml")) {
      const form = parse(read(`.github/ISSUE_TEMPLATE/${file}`)) as { body: { type: string; id?: string }[] };
      expect(form).toMatchObject({ name: expect.any(String), description: expect.any(String) });
      const ids = form.body.filter(({ type }) => type !== "markdown").map(({ id }) => id);
      expect(new Set(ids).size).toBe(ids.length);
    }
  });
});
