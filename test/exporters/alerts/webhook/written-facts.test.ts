import fc from "fast-check";
import { expect, it } from "vitest";
import { factsOf } from "../../../../src/exporters/alerts/record-facts.js";
import {
  compileTemplate,
  type RenderTemplate,
  templatePieces,
} from "../../../../src/exporters/alerts/webhook/template.js";
import { FACT_NAMES, writeFacts } from "../../../../src/exporters/alerts/webhook/written-facts.js";
import { Batch, encodeTree, SIGNALS } from "../../../../src/plugin.js";
import { atOnce } from "../../../../src/runtime/work/door.js";
import { runs } from "../../../support/runs.js";
import { request } from "../../../support/telemetry/telemetry-arbitraries.js";
import { rewritten } from "../../../support/telemetry/wire-forms.js";

/** Makes every é invalid UTF-8. */
function broken(bytes: Uint8Array): Uint8Array {
  const copy = Buffer.from(bytes);
  for (let at = copy.indexOf("é"); at >= 0; at = copy.indexOf("é", at + 1)) copy[at] = 0xff;
  return copy;
}

const batches = fc
  .constantFrom(...SIGNALS)
  .chain((signal) =>
    fc.tuple(
      fc.constant(signal),
      request(signal),
      fc.record({ shuffled: fc.boolean(), unknown: fc.boolean(), padded: fc.boolean(), repeated: fc.boolean() }),
      fc.boolean(),
      fc.integer(),
    ),
  )
  .map(([signal, tree, oddities, isBroken, seed]) => {
    const odd = rewritten(signal, encodeTree(signal, tree).bytes, oddities, seed);
    return Batch.admit(signal, isBroken ? broken(odd) : odd);
  });

const parse = (json: Uint8Array): unknown => JSON.parse(Buffer.from(json).toString());

it("writes the same facts as an implementation with plain objects", () => {
  fc.assert(
    fc.property(batches, (batch) => {
      const expected = JSON.parse(JSON.stringify(factsOf(batch))) as readonly Record<string, unknown>[];
      const written = atOnce(writeFacts(batch));
      expect(parse(Buffer.concat([Buffer.from("["), written.json, Buffer.from("]")]))).toEqual(expected);
      for (const [i, facts] of expected.entries()) {
        expect(parse(written.of(i))).toEqual(facts);
        for (const name of FACT_NAMES) expect(parse(written.fact(i, name))).toEqual(facts[name]);
      }
    }),
    runs(150),
  );
});

it("has the same text in its pieces as the rendered template, or none", () => {
  const names = ["a", "b_c"];
  const leaf = fc.oneof(
    fc.constantFrom("{{ a }}", "{{b_c}}", "x {{ a }}", "{{ a.b }}", "{{ a }}{{ a }}", "}}"),
    fc.string(),
    fc.integer(),
    fc.constantFrom(null, true),
  );
  const { template } = fc.letrec<{ template: unknown }>((tie) => ({
    template: fc.oneof(
      { depthSize: "small" },
      leaf,
      fc.array(tie("template"), { maxLength: 3 }),
      fc.dictionary(fc.oneof(fc.string({ maxLength: 3 }), fc.constantFrom("1", "x")), tie("template"), { maxKeys: 3 }),
    ),
  }));
  let found = 0;
  fc.assert(
    fc.property(template, fc.jsonValue(), (tree, value) => {
      const render = compileTemplate(tree, new Set(names));
      fc.pre(typeof render === "function");
      const pieces = templatePieces(tree);
      if (pieces === undefined) return;
      found++;
      const json = pieces.map((each) =>
        typeof each === "string" ? JSON.stringify(value) : Buffer.from(each).toString(),
      );
      expect(json.join("")).toBe(JSON.stringify((render as RenderTemplate)({ a: value, b_c: value })));
    }),
    runs(300),
  );
  expect(found).toBeGreaterThan(0);
});
