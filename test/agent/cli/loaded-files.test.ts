import { readdirSync, readFileSync } from "node:fs";
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
    ...[
      "run-process.js",
      "room-cli.js",
      "show-config.js",
      "room-config.js",
      "room-defaults.js",
      "otlp.js",
      "batch.js",
      "otlp-http.js",
    ],
  );

  it("reads the configs of components", () => {
    expect([...read]).toEqual(expect.arrayContaining(["room-core.js", "room-net.js", "zod.js"]));
  });

  it("reads few files, because each takes the best part of a millisecond", () => {
    expect(read.size).toBeLessThan(25);
  });

  it.each(["room-ottl.js", "room-pii.js", "room-brokers.js", "room-logs.js", "room-queue.js", "server.js"])(
    "does not read %s",
    (name) => {
      expect(() => readFileSync(join(BUNDLE, name))).not.toThrow();
      expect([...read]).not.toContain(name);
    },
  );
});

describe("sluice --version", () => {
  it("reads no room that a command needs", () => {
    expect([...filesReadWith("run-process.js")].sort()).toEqual([
      "rolldown-runtime.js",
      "room-version.js",
      "run-process.js",
    ]);
  });
});

describe("a file of the bundle", () => {
  it("imports no module of Node.js by a statement, because that would read all exports of the module", () => {
    const heads = readdirSync(BUNDLE)
      .filter((name) => name.endsWith(".js"))
      .map((name) => /^(?:import .*\n)*/.exec(readFileSync(join(BUNDLE, name), "utf8"))![0]);
    expect(heads.join("")).toContain('from "./room-core.js"');
    expect(heads.join("")).not.toContain('"node:');
  });
});
