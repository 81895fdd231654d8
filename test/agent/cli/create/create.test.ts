import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { VERSIONS } from "../../../../src/agent/cli/create/files.js";
import { cli } from "../terminal.js";

const root = mkdtempSync(join(tmpdir(), "sluice-create-"));
afterAll(() => rmSync(root, { recursive: true }));

const fresh = () => join(mkdtempSync(join(root, "x-")), "new");

describe("sluice create", () => {
  it.each(["processor", "receiver", "exporter", "connector", "extension", "handler"])(
    "writes a package for a %s and says how to go on",
    async (kind) => {
      const folder = fresh();
      const { code, out, err } = await cli(["create", kind, "@acme/sluice-plugin-geo-ip", "--directory", folder]);
      expect({ code, err }).toEqual({ code: 0, err: "" });
      expect(out).toContain(`Wrote the ${kind} "geo_ip" to ${folder}`);
      expect(out).toContain("npm test");
      expect(readdirSync(folder, { recursive: true }).map(String).sort()).toEqual([
        ".gitignore",
        "README.md",
        "example.yaml",
        "package.json",
        "src",
        "src/index.ts",
        "test",
        "test/index.test.ts",
        "tsconfig.build.json",
        "tsconfig.json",
        "vitest.config.ts",
      ]);
      const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
      expect(manifest).toMatchObject({
        name: "@acme/sluice-plugin-geo-ip",
        keywords: ["sluice-plugin", "sluice", "opentelemetry"],
      });
      expect(readFileSync(join(folder, "src/index.ts"), "utf8")).toContain('type: "geo_ip"');
    },
  );

  it("starts packages with the versions that Sluice itself uses", () => {
    const { dependencies, devDependencies } = JSON.parse(readFileSync("package.json", "utf8"));
    expect({ ...dependencies, ...devDependencies }).toMatchObject(VERSIONS);
  });

  it("overwrites nothing", async () => {
    const folder = mkdtempSync(join(root, "x-"));
    writeFileSync(join(folder, "mine.txt"), "mine");
    const { code, out, err } = await cli(["create", "processor", "mine", "--directory", folder]);
    expect({ code, out }).toEqual({ code: 1, out: "" });
    expect(err).toContain("exists and is not empty; nothing was written");
    expect(readdirSync(folder)).toEqual(["mine.txt"]);
  });

  it("reports that the directory is not writable", async () => {
    writeFileSync(join(root, "file"), "");
    for (const folder of ["/proc/nowhere/new", join(root, "file", "new")]) {
      const { code, err } = await cli(["create", "processor", "mine", "--directory", folder]);
      expect(code).toBe(1);
      expect(err).toMatch(/cannot be written|exists and is not empty/);
    }
  });

  it.each([
    [[], "say what to create: processor, receiver, exporter"],
    [["procesor", "x"], 'did you mean "processor"?'],
    [["processor"], "a name is missing; sluice create processor my-processor"],
    [["processor", "My Processor"], 'did you mean "my-processor"?'],
    [["processor", "../up"], "is not a valid package name"],
    [["processor", "9lives"], 'did you mean "lives"?'],
    [["processor", "a", "b"], 'unexpected argument "b"'],
    [["processor", "sluice-processor-batch"], 'Sluice has a processor "batch" already'],
    [["processor", "sluice"], 'the new package itself depends on "sluice"; choose another name, such as my-sluice'],
    [["processor", "zod"], 'the new package itself depends on "zod"'],
    [["processor", "null"], '"null" cannot be the type of a processor; choose another name, such as my-null'],
    [["receiver", "memory"], '"memory" cannot be the type of a receiver'],
  ])("refuses %j with the code of wrong usage", async (args, words) => {
    const folder = fresh();
    const { code, err } = await cli(["create", ...args, "--directory", folder]);
    expect(code).toBe(2);
    expect(err).toContain(words);
    expect(existsSync(folder)).toBe(false);
  });

  it("has a help", async () => {
    const { code, out } = await cli(["create", "--help"]);
    expect(code).toBe(0);
    expect(out).toContain("Usage: sluice create [options] <kind> <name>");
    expect(out).toContain("sluice create processor my-processor");
  });
});

describe("commands about components", () => {
  it.each(["schema", "components"])("%s shows why a plugin cannot be loaded, and ends with 1", async (command) => {
    const { code, out, err } = await cli([command, "--plugin", "./nowhere.js"]);
    expect({ code, out }).toEqual({ code: 1, out: "" });
    expect(err).toContain('plugin "./nowhere.js": there is no file');
  });

  it("looks at nothing of a config but its plugins", async () => {
    const file = join(root, "half.yaml");
    writeFileSync(file, "receivers: {nonsense: }\nplugins: [./nowhere.js]\n");
    const { code, err } = await cli(["schema", "--config", file]);
    expect(code).toBe(1);
    expect(err).toContain(`at ${file}:2:11  plugins.0`);
    expect(err).toContain("1 error");
    writeFileSync(file, "receivers: {nonsense: }\n");
    expect(await cli(["schema", "--config", file])).toMatchObject({ code: 0, err: "" });
  });
});
