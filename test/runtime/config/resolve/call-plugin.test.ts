import { EMPTY } from "rxjs";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { Registry } from "../../../../src/runtime/config/resolve/registry.js";
import type { ComponentFactory, HeldBytesLimit, NamedPipeline } from "../../../../src/runtime/contract/component.js";
import { defineConnector, defineExtension, defineProcessor } from "../../../../src/runtime/contract/define.js";
import { secret } from "../../../../src/runtime/contract/schema/schema.js";
import { fakes } from "../fakes.js";
import { brief, GOOD, loadText } from "../load-text.js";

function load(text: string, factory: ComponentFactory) {
  return loadText(text, { registry: new Registry([...fakes, factory]), addDefaults: true });
}

function connector(namedPipelines: (config: unknown) => readonly NamedPipeline[]) {
  return defineConnector({
    type: "choose",
    summary: "Says which pipelines it names.",
    routes: [{ from: "logs", to: "logs" }],
    schema: z.strictObject({ token: secret().optional() }),
    namedPipelines,
    create: () => () => EMPTY,
  });
}

const CONNECTED = `receivers: {otlp: {protocols: {grpc: }}}
connectors:
  choose: {token: very-secret}
exporters: {debug: }
service:
  pipelines:
    logs: {receivers: [otlp], exporters: [choose]}
    logs/b: {receivers: [choose], exporters: [debug]}
`;

function processor(maxHeldBytes: () => HeldBytesLimit) {
  return defineProcessor({
    type: "hold",
    summary: "Says what it holds back.",
    signals: ["logs"],
    schema: z.strictObject({}),
    maxHeldBytes,
    create: () => () => EMPTY,
  });
}

function fail(words: string): never {
  throw new Error(words);
}

describe("code of a plugin that fails while a config is loaded", () => {
  it("is an error of the connector that cannot say which pipelines it names", () => {
    const { config, problems } = load(
      CONNECTED,
      connector(() => fail("bang")),
    );
    expect(config).toBeUndefined();
    expect(problems.map(brief)).toEqual(["error component_failed 3:3 connectors.choose"]);
    expect(problems[0]!.message).toBe('namedPipelines of connector "choose" failed: bang');
  });

  it.each([
    ["no list", { pipeline: "logs/b" }],
    ["nothing in a list", [undefined]],
    ["a pipeline without its path", [{ pipeline: "logs/c" }]],
  ])("is an error when %s is given for the pipelines", (_, named) => {
    const { problems } = load(
      CONNECTED,
      connector(() => named as unknown as NamedPipeline[]),
    );
    expect(problems.map(brief)).toEqual(["error component_failed 3:3 connectors.choose"]);
  });

  it("does not say a secret of the component's config", () => {
    const { problems } = load(
      CONNECTED,
      connector((config) => fail(`cannot read ${JSON.stringify(config)}`)),
    );
    expect(problems[0]!.message).toContain('cannot read {"token":"[REDACTED]"}');
  });

  it.each<[string, () => HeldBytesLimit]>([
    ["throws", () => fail("bang")],
    ["gives nothing", () => undefined as unknown as HeldBytesLimit],
  ])("is a warning of the processor whose limit %s, and the config runs", (_, maxHeldBytes) => {
    const { config, problems } = load(GOOD.replaceAll("batch", "hold"), processor(maxHeldBytes));
    expect(config?.processors.has("hold")).toBe(true);
    expect(problems.map(brief)).toEqual(["warning component_failed 8:3 processors.hold"]);
    expect(problems[0]!.message).toMatch(/^maxHeldBytes of processor "hold" failed: /);
  });

  it.each([
    ["throws", z.strictObject({}).transform(() => fail("bang")), "schema_failed 1:1 extensions.always"],
    ["needs a key", z.strictObject({ size: z.number() }), "missing_key 1:1 extensions.always.size"],
  ])("is an error of the extension that is on by default and whose schema %s", (_, schema, problem) => {
    const always = defineExtension({
      type: "always",
      summary: "Runs in every agent.",
      onByDefault: true,
      schema,
      create: () => ({ start: async () => {}, stop: async () => {} }),
    });
    expect(load(GOOD, always).problems.map(brief)).toEqual([`error ${problem}`]);
  });
});
