import { describe, expect, it } from "vitest";
import { compileCondition } from "../../../../src/runtime/ottl/compile/compile.js";
import { anyMatches } from "../../../../src/runtime/ottl/compile/run.js";
import { plainPaths } from "../../../../src/runtime/ottl/paths/plain-paths.js";
import { batchFor, edited } from "../../../support/telemetry/ottl.js";

const holds = (condition: string, batch = batchFor("log")) =>
  anyMatches(batch, [compileCondition(condition, "log", plainPaths("log"))]);

describe("plain paths", () => {
  it.each(["text", "int", "double", "yes"])("give what is in one piece: %s", (key) => {
    expect(holds(`plain.attributes["${key}"] == attributes["${key}"]`)).toBe(true);
    expect(holds(`plain.attributes["${key}"] != nil`)).toBe(true);
  });

  it.each(["list", "map", "bytes", "none", "nowhere"])("give nil for others: %s", (key) => {
    expect(holds(`plain.attributes["${key}"] == nil`)).toBe(true);
  });

  it("see what was set, and the resource", () => {
    const batch = edited('set(attributes["list"], "now a text")');
    expect(holds('IsMatch(plain.attributes["list"], "text$")', batch)).toBe(true);
    expect(holds('plain.resource.attributes["service.name"] == "checkout"')).toBe(true);
  });

  it("are known only to who asks for them", () => {
    expect(() => compileCondition('plain.attributes["a"] == 1', "log")).toThrow(/no such path/);
    expect(Object.keys(plainPaths("metric"))).toEqual(["plain.resource.attributes"]);
  });
});
