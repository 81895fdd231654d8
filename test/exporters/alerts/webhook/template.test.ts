import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compileTemplate, type RenderTemplate } from "../../../../src/exporters/alerts/webhook/template.js";
import { runs } from "../../../support/runs.js";

const NAMES = new Set(["body", "attributes", "count"]);
const render = (template: unknown, facts: Record<string, unknown>) =>
  (compileTemplate(template, NAMES) as RenderTemplate)(facts);

describe("a template", () => {
  it("inserts the value itself where a text is a single placeholder, and text elsewhere", () => {
    const facts = { body: "it broke", count: 3, attributes: { "http.route": "/x", user: { id: 7 } } };
    const template = {
      text: "{{count}} times: {{ body }}",
      count: "{{ count }}",
      list: ['{{ attributes["http.route"] }}', "{{ attributes.user.id }}", "{{ attributes.user }}", 1, true, null],
      inText: "user {{ attributes.user }}",
      missing: "{{ attributes.nothing.at.all }}",
      missingInText: "<{{ attributes.nothing }}>",
    };
    expect(render(template, facts)).toEqual({
      text: "3 times: it broke",
      count: 3,
      list: ["/x", 7, { id: 7 }, 1, true, null],
      inText: 'user {"id":7}',
      missing: null,
      missingInText: "<>",
    });
  });

  it("keeps its form whatever the values are", () => {
    fc.assert(
      fc.property(fc.string(), (body) => {
        const written = JSON.parse(
          JSON.stringify(render({ a: "x {{ body }} y", b: "{{ body }}", c: "end" }, { body })),
        );
        expect(written).toEqual({ a: `x ${body} y`, b: body, c: "end" });
      }),
      runs(100),
    );
  });

  it("reads only own properties", () => {
    expect(render("{{ attributes.constructor }}", { attributes: {} })).toBeNull();
    expect(render('{{ body["__proto__"] }}', { body: {} })).toBeNull();
    expect(render("{{ body.length }}", { body: "text" })).toBeNull();
  });

  it("reports problems with their paths", () => {
    expect(compileTemplate({ a: ["{{ nobody }}"], b: "{{ body + 1 }}" }, NAMES)).toEqual([
      { path: ["a", 0], message: "expected one of body, attributes, count, found nobody" },
      { path: ["b"], message: expect.stringContaining("expected a name such as") },
    ]);
  });
});
