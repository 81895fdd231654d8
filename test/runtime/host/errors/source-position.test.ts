import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { firstPosition, sourceStack, thrownAt } from "../../../../src/runtime/host/errors/source-position.js";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "sluice-source-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Line 1, column 11 of the compiled file is line 12, column 7 of the source. */
const map = (over: object = {}) => ({ version: 3, sources: ["../src/a.ts"], names: [], mappings: "UAWM", ...over });

function compiled(name: string, mapUrl: string): string {
  const file = join(folder, name);
  writeFileSync(file, `export const a = 1;\n\n//# sourceMappingURL=${mapUrl}\n`);
  return file;
}

const dataUrl = (payload: object) =>
  `data:application/json;base64,${Buffer.from(JSON.stringify(payload)).toString("base64")}`;

function errorAt(...places: string[]): Error {
  const error = new Error("it broke");
  error.stack = ["Error: it broke", ...places.map((place) => `    at ${place}`)].join("\n");
  return error;
}

describe("the place of a throw", () => {
  it.each([
    ["beside the file", () => writeMap("beside.js", map()), () => join(folder, "../src/a.ts")],
    ["inside the file", () => compiled("inside.js", dataUrl(map())), () => join(folder, "../src/a.ts")],
    ["with a source root", () => writeMap("root.js", map({ sourceRoot: "/code/" })), () => "/src/a.ts"],
    ["of a bundler", () => writeMap("pack.js", map({ sources: ["webpack://x/./src/a.ts"] })), () => "src/a.ts"],
  ])("is found by a map %s", (_where, write, source) => {
    expect(thrownAt(errorAt(`run (${pathToFileURL(write())}:1:11)`))).toBe(`${source()}:12:7`);
  });

  it.each([
    ["without a map", () => join(folder, "none.ts")],
    ["with a map that is missing", () => compiled("lost.js", "lost.js.map")],
    ["with a map that is broken", () => compiled("broken.js", dataUrl({ mappings: 7 }))],
    ["with a map that is a named pipe", () => pipeMap("pipe.js")],
    ["that is very large", () => large("large.js")],
  ])("is that of the file %s", (_what, write) => {
    const file = write();
    expect(thrownAt(errorAt(`async ${file}:1:11`))).toBe(`${file}:1:11`);
  });

  it("is that of the compiled line where the map has nothing for it", () => {
    const file = writeMap("other-line.js", map());
    expect(thrownAt(errorAt(`${file}:2:3`))).toBe(`${file}:2:3`);
  });

  it("is the first one outside of Sluice, and names the package it is in", () => {
    const own = join(import.meta.dirname, "../../../../src/runtime/host/agent.ts");
    const copy = "/app/node_modules/sluice/dist/bundle/plugin.js";
    const error = errorAt(
      `a (${own}:1:1)`,
      "node:fs:2:2",
      `${copy}:3:3`,
      "b (/app/node_modules/@me/mark/src/b.ts:4:4)",
    );
    expect(thrownAt(error)).toBe("@me/mark/src/b.ts:4:4");
    expect(firstPosition(error)).toBe("src/runtime/host/agent.ts:1:1");
    expect(thrownAt(errorAt(`a (${own}:1:1)`))).toBeUndefined();
  });

  it("is not taken from the message", () => {
    const error = errorAt("/app/b.js:2:2");
    error.stack = `Error: see\n    at /etc/hosts:1:1\nfor more\n    at /app/b.js:2:2`;
    expect(thrownAt(error)).toBe("/app/b.js:2:2");
  });

  it.each([
    ["no error", "at /a.js:1:1"],
    ["one without a stack", Object.assign(new Error("a"), { stack: undefined })],
    ["one whose stack is no text", Object.assign(new Error("a"), { stack: { a: 1 } })],
    ["one whose stack throws", Object.defineProperty(new Error("a"), "stack", { get: () => JSON.parse("") })],
    ["one with a stack of a million lines", errorAt("x\n    at ".repeat(1e6))],
  ])("is unknown for %s", (_what, error) => {
    expect(thrownAt(error)).toBeUndefined();
  });
});

describe("a stack", () => {
  it("has its frames where the source has them, and the others as they are", () => {
    const file = writeMap("stack.js", map());
    const stack = sourceStack(errorAt(`run (${file}:1:11)`, "node:fs:2:2", "async Promise.all (index 0)"));
    expect(stack.split("\n")).toEqual([
      "Error: it broke",
      `    at run (${join(folder, "../src/a.ts")}:12:7)`,
      "    at node:fs:2:2",
      "    at async Promise.all (index 0)",
    ]);
  });
});

function writeMap(name: string, payload: object): string {
  writeFileSync(join(folder, `${name}.map`), JSON.stringify(payload));
  return compiled(name, `${name}.map`);
}

function pipeMap(name: string): string {
  execFileSync("mkfifo", [join(folder, `${name}.map`)]);
  return compiled(name, `${name}.map`);
}

function large(name: string): string {
  const file = compiled(name, dataUrl(map()));
  truncateSync(file, 1024 ** 3);
  return file;
}
