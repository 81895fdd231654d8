import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";

const BUNDLE = join(import.meta.dirname, "../../../dist/bundle");

/** The files of the bundle that are read with these, without those that code imports when it needs them. */
function filesReadWith(...names: readonly string[]): Set<string> {
  const read = new Set<string>();
  const add = (name: string) => {
    if (read.has(name)) return;
    read.add(name);
    const text = readFileSync(join(BUNDLE, name), "utf8");
    for (const [, imported] of text.matchAll(/^(?:import|export)\b[^;]*?"\.\/([\w-]+\.js)";/gm)) add(imported!);
  };
  for (const name of names) add(name);
  return read;
}

describe("a command that only reads a config with OTLP in and out", () => {
  const read = filesReadWith(
    ...["main.js", "validate.js", "room-config.js", "room-defaults.js", "otlp.js", "batch.js", "otlp-http.js"],
  );

  it("reads the configs of components", () => {
    expect([...read]).toEqual(expect.arrayContaining(["room-core.js", "room-net.js", "zod.js"]));
  });

  it("reads few files, because each takes the best part of a millisecond", () => {
    expect(read.size).toBeLessThan(25);
  });

  it.each(["room-ottl.js", "room-pii.js", "room-brokers.js", "room-logs.js", "level-store.js", "server.js"])(
    "does not read %s",
    (name) => {
      expect(() => readFileSync(join(BUNDLE, name))).not.toThrow();
      expect([...read]).not.toContain(name);
    },
  );
});
