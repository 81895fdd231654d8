import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { directoryNameOf, exporterOfDirectory } from "../../../../src/runtime/queue/operate/directory-name.js";

describe("the directory of a queue", () => {
  it("has a name that leads back to its exporter and nowhere else", () => {
    expect(directoryNameOf("otlp_http/eu-west")).toBe("otlp_http%2feu-west");
    expect(directoryNameOf("OTLP/../x")).toMatch(/^[a-z0-9_%-]+$/);
    fc.assert(
      fc.property(fc.string({ minLength: 1, unit: "grapheme" }), (id) => {
        expect(exporterOfDirectory(directoryNameOf(id))).toBe(id);
        expect(directoryNameOf(id)).toMatch(/^[a-z0-9_%-]+$/);
      }),
    );
    expect(["a.b", "%", "A", "%41%zz"].map(exporterOfDirectory)).toEqual([undefined, undefined, undefined, undefined]);
  });
});
