import { describe, expect, it } from "vitest";
import { openConfig } from "../../../src/runtime/config/load.js";
import { builtinRegistry } from "../../../src/runtime/host/builtin-registry.js";
import { BUILTINS, DEFAULT_EXTENSIONS } from "../../../src/runtime/host/builtin-table.js";
import { builtins } from "../../../src/runtime/host/builtins.js";

const rootOf = (text: string) => openConfig({ sources: [{ text, name: "c.yaml" }] }).root;

const names = (factories: Iterable<{ kind: string; type: string }>) =>
  [...factories].map(({ kind, type }) => `${kind} ${type}`).sort();

describe("the table of built-in components", () => {
  it("names every component by each of its spellings", async () => {
    const spelt = builtins.flatMap((factory) =>
      [factory.type, ...(factory.aliases ?? [])].map((t) => [factory, t] as const),
    );
    for (const [factory, type] of spelt) expect(await BUILTINS[factory.kind][type]?.()).toBe(factory);
    expect(Object.values(BUILTINS).flatMap((byType) => Object.keys(byType))).toHaveLength(spelt.length);
  });

  it("knows the extensions that run in every agent", () => {
    const always = builtins.filter((factory) => factory.kind === "extension" && factory.onByDefault);
    expect([...DEFAULT_EXTENSIONS].sort()).toEqual(always.map(({ type }) => type).sort());
  });
});

describe("the built-in components of a config", () => {
  it("are those it names and those that always run", async () => {
    const root = rootOf("{receivers: {otlp/a: , otlp/b: }, exporters: {otlphttp: }, extensions: {zpages: }}");
    const always = DEFAULT_EXTENSIONS.map((type) => `extension ${type}`);
    expect(names((await builtinRegistry(root)).all())).toEqual(
      ["exporter otlp_http", "receiver otlp", ...always].sort(),
    );
  });

  it.each(["{receivers: {oltp: }}", "{exporters: {batch: }}", "{plugins: [./own.js]}", "{receivers: {'a b': }}"])(
    "are all of them for %s",
    async (text) => {
      expect(names((await builtinRegistry(rootOf(text))).all())).toEqual(names(builtins));
    },
  );

  it("are all of them without a config", async () => {
    expect(names((await builtinRegistry()).all())).toEqual(names(builtins));
  });
});
