import { describe, expect, it } from "vitest";
import { z } from "zod";
import { Registry } from "../../../../src/runtime/config/resolve/registry.js";
import { defineExtension } from "../../../../src/runtime/contract/define.js";
import { fakes } from "../fakes.js";

const extension = (type: string, aliases: string[] = []) =>
  defineExtension({
    type,
    aliases,
    summary: "",
    schema: z.strictObject({}),
    create: () => ({ start: async () => {}, stop: async () => {} }),
  });

describe("Registry", () => {
  it("finds a component under its type and under its aliases", () => {
    const registry = new Registry(fakes);
    expect(registry.get("exporter", "otlphttp")).toBe(registry.get("exporter", "otlp_http"));
    expect(registry.get("exporter", "logging")?.type).toBe("debug");
    expect(registry.get("receiver", "debug")).toBeUndefined();
  });

  it("lists all components, or those of one kind", () => {
    const registry = new Registry(fakes);
    expect(registry.all()).toHaveLength(fakes.length);
    expect(registry.all("connector").map((factory) => factory.type)).toEqual(["forward", "count"]);
  });

  it("suggests the nearest name of the kind", () => {
    const registry = new Registry(fakes);
    expect(registry.suggest("receiver", "oltp")).toBe("otlp");
    expect(registry.suggest("exporter", "otlp-http")).toBe("otlp_http");
    expect(registry.suggest("exporter", "kafka")).toBeUndefined();
  });

  it("refuses a second component of a name, alias or not", () => {
    expect(() => new Registry([extension("a"), extension("b", ["a"])])).toThrow(
      'another extension called "a" comes with Sluice',
    );
  });

  it("refuses a component built for another contract, by name", () => {
    expect(() => new Registry([{ ...extension("a"), contract: 99 }])).toThrow(/"a" was built for contract 99/);
  });
});
