import { describe, expect, it } from "vitest";
import { BUILTINS, builtinRegistry } from "../../src/agent/builtins/builtins.js";
import type { ExporterFactory } from "../../src/plugin.js";
import { openConfig } from "../../src/runtime/config/load.js";
import {
  completeSettings,
  uncheckedExporterSettingsSchema,
} from "../../src/runtime/contract/schema/exporter-settings.js";
import { builtins } from "../support/builtins.js";

const rootOf = (text: string) => openConfig({ sources: [{ text, name: "c.yaml" }] }).root;

const names = (factories: Iterable<{ kind: string; type: string }>) =>
  [...factories].map(({ kind, type }) => `${kind} ${type}`).sort();

describe("the list of built-in components", () => {
  it.each(BUILTINS.map((builtin) => [`${builtin.kind} ${builtin.types[0]}`, builtin] as const))(
    "says of the %s what its code says",
    async (_name, { kind, types, onByDefault = false, load }) => {
      const factory = await load();
      expect([factory.kind, factory.type, ...(factory.aliases ?? [])]).toEqual([kind, ...types]);
      expect(factory.kind === "extension" && (factory.onByDefault ?? false)).toBe(onByDefault);
    },
  );
});

describe("every built-in exporter", () => {
  it.each(BUILTINS.filter(({ kind }) => kind === "exporter").map((builtin) => [builtin.types[0], builtin] as const))(
    "retries by default when it has a queue: %s",
    async (_type, { load }) => {
      const { defaults = {} } = (await load()) as ExporterFactory;
      const withQueue = { sending_queue: { enabled: true } };
      const layers = [withQueue, defaults].map((layer) => uncheckedExporterSettingsSchema.parse(layer));
      const { enabled, max_retries } = completeSettings(...layers).retry_on_failure;
      expect([enabled, max_retries]).toEqual([true, 5]);
    },
  );
});

describe("the built-in components of a config", () => {
  it("are those it names and those that always run", async () => {
    const root = rootOf("{receivers: {otlp/a: , otlp/b: }, exporters: {otlphttp: }, extensions: {pprof: }}");
    const always = ["extension admin", "extension health_check", "extension reliability"];
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
