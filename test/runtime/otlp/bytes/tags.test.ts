import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { MESSAGES, POINT_ATTRIBUTES_TAGS } from "../../../../src/runtime/otlp/bytes/messages.js";
import { METRIC_DATA_TAGS } from "../../../../src/runtime/otlp/bytes/metric-tags.generated.js";
import { TAG_LIMIT } from "../../../../src/runtime/otlp/bytes/tags.generated.js";

const project = join(import.meta.dirname, "../../../..");

type TagGroups = Readonly<Record<string, Readonly<Record<string, string | readonly string[]>>>>;

const { TAG_FILES, tagSource } = (await import(join(project, "scripts/wire-tags.js"))) as {
  TAG_FILES: Readonly<Record<string, TagGroups>>;
  tagSource(groups: TagGroups, messages: typeof MESSAGES): string;
};

describe("the tags of OTLP's fields", () => {
  it.each(Object.entries(TAG_FILES))(
    "are what the table of messages makes of them: %s (run `npm run readers`)",
    (path, groups) => {
      expect(readFileSync(join(project, path), "utf8")).toBe(tagSource(groups, MESSAGES));
    },
  );

  it("are of fields that the table has", () => {
    expect(() => tagSource({ Spans: { NAME_TAG: "Span.nmae" } }, MESSAGES)).toThrow("the table has no field Span.nmae");
  });

  it("are shared by fields only if they are equal", () => {
    expect(() => tagSource({ Names: { NAME_TAG: ["Span.name", "Scope.name"] } }, MESSAGES)).toThrow(
      "the fields of NAME_TAG have different tags: 42, 10",
    );
  });

  it("have a limit above every known tag, whatever its wire type", () => {
    const numbers = Object.values(MESSAGES).flatMap(({ fields }) => fields.map(({ number }) => number));
    expect(Math.max(...numbers.map((number) => (number << 3) | 7))).toBeLessThan(TAG_LIMIT);
  });

  it("tell where the data of metrics and the attributes of its points are", () => {
    expect(METRIC_DATA_TAGS).toEqual([42, 58, 74, 82, 90]);
    expect(POINT_ATTRIBUTES_TAGS).toEqual({ 42: 58, 58: 58, 74: 74, 82: 10, 90: 58 });
  });
});
