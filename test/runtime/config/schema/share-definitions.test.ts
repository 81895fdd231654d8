import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type JsonSchema, shareDefinitions } from "../../../../src/runtime/config/schema/share-definitions.js";
import { runs } from "../../../support/runs.js";

const key = fc.constantFrom("endpoint", "tls", "a/b", "ca ~file", "items");
const annotations = fc.record(
  {
    description: fc.constantFrom("One.", "Two."),
    default: fc.constantFrom(1, { type: "x" }),
    deprecated: fc.boolean(),
  },
  { requiredKeys: [] },
);

/** Schemas from few parts, so that many of them are equal, also ones that differ in their annotations only. */
const { schema } = fc.letrec<{ schema: JsonSchema; bare: JsonSchema }>((tie) => ({
  schema: fc.tuple(tie("bare"), annotations).map(([bare, texts]) => ({ ...bare, ...texts })),
  bare: fc.oneof(
    { depthSize: "medium" },
    fc.constantFrom<JsonSchema>(
      { type: "string", pattern: "^a long pattern that is worth a definition$" },
      { enum: [{ type: "no schema", properties: { tls: {} } }, "b", "and something that makes it longer"] },
      { type: "null" },
      {},
    ),
    fc.dictionary(key, tie("schema"), { maxKeys: 3 }).map((properties) => ({ type: "object", properties })),
    fc.array(tie("schema"), { minLength: 1, maxLength: 3 }).map((anyOf) => ({ anyOf })),
    tie("schema").map((items) => ({ type: "array", items, additionalProperties: false })),
    tie("schema").map((additionalProperties) => ({ additionalProperties, if: additionalProperties })),
  ),
}));

/** The schema with every reference replaced by what it refers to. */
function resolved(json: unknown, definitions: JsonSchema): unknown {
  if (Array.isArray(json)) return json.map((each) => resolved(each, definitions));
  if (typeof json !== "object" || json === null) return json;
  const { $ref, ...rest } = json as { $ref?: string };
  const target = $ref === undefined ? {} : (resolved(definitions[$ref.replace("#/$defs/", "")], definitions) as object);
  const all = { ...target, ...rest };
  return Object.fromEntries(Object.entries(all).map(([word, value]) => [word, resolved(value, definitions)]));
}

describe("shareDefinitions", () => {
  it("writes references with the same annotations once", () => {
    const description = "What clients send to prove who they are, if the server wants to know it.";
    const token = { type: "string", pattern: "^[a-z0-9]{32,64}$", minLength: 32, description };
    const { properties, $defs: definitions } = shareDefinitions({ properties: { a: token, b: token } });
    const ref = { $ref: "#/$defs/a.2" };
    expect(properties).toEqual({ a: ref, b: ref });
    expect((definitions as JsonSchema)["a.2"]).toEqual({ $ref: "#/$defs/a", description });
  });

  it("changes nothing about what a schema means", () => {
    fc.assert(
      fc.property(schema, fc.dictionary(fc.constantFrom("mine", "yours"), schema), (root, own) => {
        const { $defs: definitions, ...shared } = shareDefinitions({ ...root, $defs: own });
        const all = definitions as JsonSchema;
        expect(resolved(shared, all)).toEqual(root);
        for (const [name, each] of Object.entries(own)) expect(resolved(all[name], all)).toEqual(each);
      }),
      runs(100),
    );
  });

  it("writes equal parts once, and keeps the description of each in its place", () => {
    const tls = (description: string) => ({
      type: "object",
      description,
      properties: { ca_file: { type: "string", description: "Certificates." } },
    });
    expect(shareDefinitions({ properties: { tls: tls("To clients."), backend: tls("To the backend.") } })).toEqual({
      properties: {
        tls: { $ref: "#/$defs/tls", description: "To clients." },
        backend: { $ref: "#/$defs/tls", description: "To the backend." },
      },
      $defs: {
        tls: {
          type: "object",
          properties: { ca_file: { type: "string", description: "Certificates." } },
        },
      },
    });
  });
});
