import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  entriesOf,
  itemsOf,
  type SchemaValue,
  type SchemaVisitor,
  visitKeys,
  visitSchema,
} from "../../../../src/runtime/config/schema/visit-schema.js";
import { valueKinds } from "../../../../src/runtime/config/schema/zod-schema.js";
import { parseYaml } from "../../../../src/runtime/config/text/parse-yaml.js";
import { SourceText } from "../../../../src/runtime/config/text/source-text.js";

/** Every scalar of a text: its path, and the kinds of value that each schema it is held against takes. */
function scalarsOf(text: string, ...schemas: z.ZodType[]): string[] {
  const visit = (value: SchemaValue): string[] => visitSchema(value, scalars);
  const scalars: SchemaVisitor<string[]> = {
    scalar: ({ path, schemas: held }) => [
      `${path.join(".")}: ${held.map((schema) => [...valueKinds(schema)].join("|")).join(", ")}`,
    ],
    list: (list) => itemsOf(list).flatMap(visit),
    map: (map) => entriesOf(map).flatMap(visit),
  };
  return visit({ node: parseYaml(new SourceText("c.yaml", text), [])!, schemas, path: [] });
}

/** The entries of a map: as written, by the schema's name, and whether the schema names them. */
function entries(text: string, schema: z.ZodType): string[] {
  const node = parseYaml(new SourceText("c.yaml", text), [])!;
  if (node.kind !== "map") throw new Error("expected a map");
  return entriesOf({ node, schemas: [schema], path: [] }).map(
    ({ key, name, known }) => `${key} ${name} ${known.has(name)}`,
  );
}

describe("visitSchema", () => {
  it("holds every value against its schema, through wrappers, lists, records and tuples", () => {
    const schema = z.strictObject({
      name: z.string().optional(),
      list: z.array(z.number()).default([]),
      record: z.record(z.string(), z.boolean()),
      tuple: z.tuple([z.string(), z.number()]).rest(z.boolean()),
    });
    expect(scalarsOf("{name: a, list: [1], record: {x: true}, tuple: [a, 1, true, true]}", schema)).toEqual([
      "name: string",
      "list.0: number",
      "record.x: boolean",
      "tuple.0: string",
      "tuple.1: number",
      "tuple.2: boolean",
      "tuple.3: boolean",
    ]);
  });

  it("holds a value against every alternative, and against nothing behind an unknown key", () => {
    const schema = z.union([z.strictObject({ a: z.string() }), z.looseObject({ a: z.number() })]);
    expect(scalarsOf("{a: 1}", schema, z.strictObject({ a: z.boolean() }))).toEqual(["a: string, number, boolean"]);
    expect(scalarsOf("{b: {c: 1}}", z.strictObject({ a: z.string() }))).toEqual(["b.c: "]);
  });

  it("follows a recursive schema as far as the config goes", () => {
    const tree = z.strictObject({
      name: z.string(),
      get kids() {
        return z.array(tree).optional();
      },
    });
    expect(scalarsOf("{name: a, kids: [{name: b, kids: [{name: c}]}]}", tree)).toEqual([
      "name: string",
      "kids.0.name: string",
      "kids.0.kids.0.name: string",
    ]);
  });

  it("takes a key in another case for the known one, unless that is written too", () => {
    const schema = z.strictObject({ endpoint: z.string(), timeout: z.string() });
    expect(entries("{EndPoint: a, Timeout: b, timeout: c, other: d}", schema)).toEqual([
      "EndPoint endpoint true",
      "Timeout Timeout false",
      "timeout timeout true",
      "other other false",
    ]);
  });
});

describe("visitKeys", () => {
  const paths = (schema: z.ZodType) => visitKeys(schema, (path) => path);

  it("gives all keys of a schema, sections before what is in them", () => {
    const schema = z.strictObject({
      a: z.strictObject({ b: z.string() }).optional(),
      list: z.array(z.strictObject({ c: z.string() })),
      record: z.record(z.string(), z.strictObject({ d: z.string() })),
      either: z.union([z.string(), z.strictObject({ e: z.string() }), z.array(z.strictObject({ f: z.string() }))]),
    });
    expect(paths(schema)).toEqual([
      "a",
      "a.b",
      "list",
      "list[].c",
      "record",
      "record.*.d",
      "either",
      "either.e",
      "either[].f",
    ]);
  });

  it("ends with a recursive schema", () => {
    const tree = z.strictObject({
      get kids() {
        return z.array(tree).optional();
      },
    });
    expect(paths(tree)).toHaveLength(9);
  });
});
