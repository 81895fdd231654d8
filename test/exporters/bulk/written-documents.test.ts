import fc from "fast-check";
import { expect, it } from "vitest";
import { elasticsearchSchema } from "../../../src/exporters/bulk/elasticsearch/config.js";
import { documentsOf as elasticsearchDocuments } from "../../../src/exporters/bulk/elasticsearch/documents.js";
import { openSearchSchema } from "../../../src/exporters/bulk/opensearch/config.js";
import { documentsOf as openSearchDocuments } from "../../../src/exporters/bulk/opensearch/documents.js";
import { Batch, encodeTree, type Tree } from "../../../src/plugin.js";
import { WireWriter } from "../../../src/runtime/otlp/bytes/writer.js";
import { runs } from "../../support/runs.js";
import { request } from "../../support/telemetry/telemetry-arbitraries.js";
import { Dice, rewritten } from "../../support/telemetry/wire-forms.js";
import { plainOtelLines, plainSsoLines } from "./plain-documents.js";

const NOW = 1_700_000_000_123;
const ROUTING = ["elasticsearch.index", "elasticsearch.document_id", "elasticsearch.document_pipeline"];
const KEYS = [...ROUTING, "data_stream.dataset", "data_stream.namespace", "data_stream", "event.name", "a", "é"];
const VALUES = ["a", "..", "A b", "", "é", "_x"];

/** Gives some attributes keys that matter to the documents. */
function withKeys(tree: Tree, dice: Dice): Tree {
  const pick = <T>(list: readonly T[]) => list[dice.upTo(list.length - 1)]!;
  const visit = (value: unknown, isAttributes: boolean): unknown => {
    if (Array.isArray(value)) return value.map((each) => visit(each, isAttributes));
    if (typeof value !== "object" || value === null || value instanceof Uint8Array) return value;
    if (isAttributes && dice.upTo(2) === 0) {
      const own = (value as Tree)["value"] ?? {};
      return { key: pick(KEYS), value: dice.upTo(2) > 0 ? { stringValue: pick(VALUES) } : own };
    }
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, visit(each, name === "attributes")]));
  };
  return visit(tree, false) as Tree;
}

/** Makes every é invalid UTF-8. */
function broken(bytes: Uint8Array): Uint8Array {
  const copy = Buffer.from(bytes);
  for (let at = copy.indexOf("é"); at >= 0; at = copy.indexOf("é", at + 1)) copy[at] = 0xff;
  return copy;
}

/** Members have no order in JSON, and JavaScript moves those whose names are numbers. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  return Object.entries(value)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, each]) => [key, sorted(each)]);
}

const read = (lines: readonly string[]) => lines.map((line) => sorted(JSON.parse(line)));

function linesOf(documents: ReturnType<typeof elasticsearchDocuments>): string[] {
  const out = new WireWriter();
  for (const document of documents) {
    if ("problem" in document) continue;
    if (!("write" in document)) throw new Error("expected a document that is written from the bytes");
    document.write(out);
  }
  return Buffer.from(out.written()).toString().split("\n").slice(0, -1);
}

const SIGNALS = ["logs", "traces"] as const;
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
    const { bytes } = encodeTree(signal, withKeys(tree, new Dice(seed)));
    const odd = rewritten(signal, bytes, oddities, seed);
    return Batch.admit(signal, isBroken ? broken(odd) : odd);
  });

const flags = fc.record({ enabled: fc.boolean() });
const elasticsearchKeys = fc.record({
  endpoint: fc.constant("http://127.0.0.1"),
  logs_index: fc.constantFrom("", "own"),
  logs_dynamic_id: flags,
  traces_dynamic_id: flags,
  logs_dynamic_pipeline: flags,
  logstash_format: flags,
});

it("writes the same documents of the mode otel as an implementation with plain objects", () => {
  fc.assert(
    fc.property(batches, elasticsearchKeys, (batch, keys) => {
      const config = elasticsearchSchema.parse(keys);
      const written = linesOf(elasticsearchDocuments(batch, config, NOW));
      expect(read(written)).toEqual(read(plainOtelLines(batch, config, NOW)));
    }),
    runs(150),
  );
});

it("writes the same documents of the mode ss4o as an implementation with plain objects", () => {
  fc.assert(
    fc.property(batches, fc.constantFrom("", "own"), (batch, index) => {
      const config = openSearchSchema.parse({
        http: { endpoint: "http://127.0.0.1" },
        logs_index: index,
        traces_index: index,
      });
      const written = linesOf(openSearchDocuments(batch, config, NOW));
      const place = index || `ss4o_${batch.signal}-default-namespace`;
      expect(read(written)).toEqual(read(plainSsoLines(batch, config, NOW, place)));
    }),
    runs(150),
  );
});
