import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ByteMasker } from "../../../../src/processors/pii/redaction/byte-masker.js";
import { redaction } from "../../../../src/processors/pii/redaction/component.js";
import { compilePattern } from "../../../../src/runtime/text/patterns/door.js";
import { patterns, texts } from "../../../runtime/text/patterns/random-patterns.js";
import { runs } from "../../../support/runs.js";
import { logOf, processed } from "../pii-harness.js";

function masked(sources: readonly string[], text: string, mask: ConstructorParameters<typeof ByteMasker>[1] = "****") {
  const masker = new ByteMasker(sources.map(compilePattern), mask);
  const bytes = Buffer.from(`1${text}1`);
  if (!masker.run(bytes, 1, bytes.length - 1, -1)) return undefined;
  return masker.isChanged ? Buffer.from(masker.view.buffer, 0, masker.length).toString() : text;
}

describe("masking in bytes", () => {
  it("masks what each pattern finds in the result of the one before", () => {
    expect(masked(["secret", "\\*{4}-\\d+"], "a secret-12, secret-x")).toBe("a ****, ****-x");
    expect(masked(["\\d+"], "1a23b", (match) => `<${match}>`)).toBe("<1>a<23>b");
    expect(masked(["never"], "plain")).toBe("plain");
  });

  it("knows a text that its mask does not change", () => {
    expect(masked(["\\*+"], "a ****")).toBe("a ****");
  });

  it("makes room for masks that are longer than what they replace", () => {
    expect(masked(["\\d"], "7".repeat(5000), "x".repeat(12))).toBe("x".repeat(60_000));
  });

  it.each([
    ["that is not ASCII", ["b"], "é b"],
    ["for a pattern that only its own engine understands", ["\\p{Greek}"], "b"],
    ["that is long", ["b"], "b".repeat(70_000)],
    ["that gets long", ["b", "x"], "b".repeat(60_000)],
  ])("leaves a text %s", (_what, sources, text) => {
    expect(masked(sources, text, "xx")).toBeUndefined();
  });

  it("does to any attributes and bodies what the processor does to decoded texts", () => {
    const keys = fc.constantFrom("a", "token", "free", "url", "redaction.masked.count");
    const values = fc.oneof(
      texts(),
      texts(),
      fc.integer(),
      fc.constant("x".repeat(30)),
      fc.array(texts(), { maxLength: 2 }),
    );
    const config = fc.record({
      allow_all_keys: fc.boolean(),
      allowed_keys: fc.constant(["a", "token", "url"]),
      ignored_keys: fc.constantFrom([], ["free"]),
      blocked_key_patterns: fc.constantFrom([], ["token"]),
      blocked_values: fc.array(patterns(), { maxLength: 3 }),
      redact_all_types: fc.boolean(),
      hash_function: fc.constantFrom("", "md5"),
      summary: fc.constantFrom("silent", "info", "debug"),
      url_sanitizer: fc.constantFrom(undefined, { enabled: true, attributes: ["url"] }),
    });
    const record = fc.tuple(values, fc.dictionary(keys, values));
    fc.assert(
      fc.property(config, fc.array(record, { minLength: 1, maxLength: 4 }), (settings, records) => {
        // Values that are allowed must be decoded; no value is this one.
        const decoded = { ...settings, allowed_values: ["^\\x{10ffff}$"] };
        for (const [body, attributes] of records) {
          const batch = logOf(body, attributes);
          const [actual, expected] = [settings, decoded].map((each) =>
            Buffer.from(processed(redaction, each, batch).bytes),
          );
          expect(actual!.equals(expected!), JSON.stringify([settings, body, attributes])).toBe(true);
        }
      }),
      runs(300),
    );
  });
});
