import { expect, test } from "vitest";
import { resourceAttributes } from "../../../../src/runtime/host/self-telemetry/resource-attributes.js";

test.each<[string, unknown]>([
  ["a map", { team: "a", "service.version": null, zone: 3 }],
  ["attributes as a map", { attributes: { team: "a", "service.version": null, zone: 3 } }],
  [
    "attributes as a list",
    {
      schema_url: "https://example.com",
      attributes: [
        { name: "team", value: "a" },
        { name: "zone", value: 3, type: "int" },
        { name: "service.version", value: null },
      ],
    },
  ],
])("takes %s", (_, written) => {
  const { "service.instance.id": id, ...rest } = resourceAttributes(written);
  expect(rest).toEqual({ "service.name": "sluice", team: "a", zone: 3 });
  expect(id).toMatch(/^[0-9a-f-]{36}$/);
});

test("takes a list in one text", () => {
  expect(resourceAttributes({ attributes_list: "team=a, zone=b=c" })).toMatchObject({ team: "a", zone: "b=c" });
});

test.each<[unknown, string[]]>([
  ["text", []],
  [{ attributes: ["x"] }, ["attributes", "0"]],
])("says where %j is wrong", (written, path) => {
  expect(() => resourceAttributes(written)).toThrow(
    expect.objectContaining({ path: ["service", "telemetry", "resource", ...path] }),
  );
});
