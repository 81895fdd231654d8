import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { MESSAGES } from "../../../../src/runtime/otlp/bytes/messages.js";

const project = join(import.meta.dirname, "../../../..");

interface ReaderFile {
  readonly path: string;
  readonly imports: object;
  readonly readers: readonly object[];
}

const { READER_FILES, readerSource } = (await import(join(project, "scripts/wire-readers.js"))) as {
  READER_FILES: readonly ReaderFile[];
  readerSource(file: ReaderFile, messages: typeof MESSAGES): string;
};

describe("the generated readers", () => {
  it.each(READER_FILES.map((file) => [file.path, file] as const))(
    "are what the table of messages makes of them: %s (run `npm run readers`)",
    (path, file) => {
      expect(readFileSync(join(project, path), "utf8")).toBe(readerSource(file, MESSAGES));
    },
  );

  it("name only fields that the table has", () => {
    const action = { kind: "range", name: "name", convert: "" } as const;
    const reader = { name: "R", purpose: "", methods: { read: ["Span", { nmae: action }] } } as const;
    expect(() => readerSource({ path: "", imports: {}, readers: [reader] }, MESSAGES)).toThrow(
      "Span has no field nmae",
    );
  });
});
