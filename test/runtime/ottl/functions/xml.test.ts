import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseXml, type XmlNode } from "../../../../src/runtime/ottl/functions/xml/xml-tree.js";
import { compileXPath } from "../../../../src/runtime/ottl/functions/xml/xpath.js";
import { recordWork } from "../../../../src/runtime/ottl/values/limits.js";
import { runs } from "../../../support/runs.js";
import { evaluate, LOG, logsOf, text } from "../../../support/telemetry/ottl.js";

/** The work of an XPath on a document, without that of reading it. */
function workOf(xml: string, path: string): number {
  recordWork.spent = 0;
  const document = parseXml(xml);
  const before = recordWork.spent;
  compileXPath(path)(document);
  return recordWork.spent - before;
}

const flat = (count: number) => `<a>${"<b/>".repeat(count)}</a>`;
const deep = (count: number) => `${"<a>".repeat(90)}${"<b/>".repeat(count)}${"</a>".repeat(90)}`;

describe("XPath", () => {
  it.each([
    "//b",
    "//b/..",
    "//a//b",
    "//*//*//*",
    "//b/following-sibling::*",
    "//b/preceding-sibling::b",
    "//b/ancestor::*",
  ])("%s takes work in proportion to the nodes of a document", (path) => {
    for (const document of [flat, deep]) expect(workOf(document(8000), path)).toBeLessThan(10 * 8000);
  });

  it("finds the same nodes with predicates that always hold, in the same order", () => {
    const axes = ["child", "descendant", "descendant-or-self", "self", "parent", "ancestor", "ancestor-or-self"];
    const step = fc
      .tuple(
        fc.constantFrom(...axes, "following-sibling", "preceding-sibling"),
        fc.constantFrom("*", "a", "b", "node()"),
      )
      .map(([axis, test]) => `${axis}::${test}`);
    const paths = fc.array(step, { minLength: 1, maxLength: 4 });
    const elements = (depth: number): fc.Arbitrary<string> =>
      fc
        .tuple(
          fc.constantFrom("a", "b"),
          depth === 0 ? fc.constant([]) : fc.array(elements(depth - 1), { maxLength: 4 }),
        )
        .map(([name, parts]) => `<${name}>${parts.join("")}</${name}>`);
    const property = fc.property(elements(3), paths, (text, steps) => {
      const document = parseXml(text);
      const find = (suffix: string) => compileXPath(`//${steps.map((one) => one + suffix).join("/")}`)(document);
      recordWork.spent = 0;
      expect(find("").map(orderOf)).toEqual(find("[true()]").map(orderOf));
    });
    fc.assert(property, runs(300));
  });

  it("has no siblings of attributes", () => {
    expect(compileXPath("//@x/following-sibling::node()")(parseXml('<a x="1"><b/></a>'))).toEqual([]);
  });
});

function orderOf({ order }: XmlNode): number {
  return order;
}

describe("functions of XML", () => {
  const large = flat(99_000);
  const many = flat(30_000);
  it.each([
    ["reads", "ParseXML(body)", large],
    ["finds in", 'GetXML(body, "//b")', large],
    ["compares the texts of", 'GetXML(body, "//b[. = //b]")', many],
    [
      "searches the texts of",
      'GetXML(body, "//a[contains(., //n)]")',
      `<a><n>${"x".repeat(5000)}</n>${"x".repeat(500_000)}</a>`,
    ],
    ["counts the siblings in", 'RemoveXML(body, "//b[following-sibling::b]")', many],
    ["inserts many times into", 'InsertXML(body, "//b", body)', flat(1000)],
    ["escapes", 'GetXML(body, "/a")', `<a>${">".repeat(1_000_000)}</a>`],
    ["reads the references of", 'GetXML(body, "/b")', `<a>${"&gt;".repeat(300_000)}</a>`],
    ["reads the lines of", 'GetXML(body, "/b")', `<a>${"\r".repeat(1_000_000)}</a>`],
  ])("stop a statement that %s XML for too long", (_, expression, body) => {
    expect(() => evaluate(expression, "log", logsOf({ ...LOG, body: text(body) }))).toThrow(/too large/);
  });

  it("removes many elements of a large document", () => {
    const shortened = evaluate('RemoveXML(body, "//b")', "log", logsOf({ ...LOG, body: text(many) }));
    expect(shortened).toBe("<a></a>");
  });

  it("rejects XML that is nested more than 100 deep", () => {
    const nested = (depth: number) => `${"<a>".repeat(depth)}${"</a>".repeat(depth)}`;
    expect(parseXml(nested(100)).children).toHaveLength(1);
    expect(() => parseXml(nested(101))).toThrow(/more than 100 deep/);
  });
});
