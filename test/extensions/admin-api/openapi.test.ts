import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { FILTERS } from "../../../src/extensions/admin-api/parameters.js";
import { ROUTES } from "../../../src/extensions/admin-api/routes.js";
import { FAILURE_REASONS } from "../../../src/runtime/kit.js";
import { deadLetter } from "../reliability/operate/controls.js";
import { startApi } from "./harness.js";

type Node = Record<string, unknown>;
const document = parse(readFileSync("docs/openapi.yaml", "utf8")) as {
  paths: Record<string, Record<string, { parameters?: Node[] }>>;
  components: { schemas: Record<string, Node>; parameters: Record<string, Node> };
};

function resolved(node: Node): Node {
  const path = (node["$ref"] as string | undefined)?.slice(2).split("/");
  return path === undefined ? node : resolved(path.reduce<unknown>((at, part) => (at as Node)[part], document) as Node);
}

/** What a value has that its schema does not name, and what it lacks. */
function differences(value: unknown, written: Node, path = "$"): string[] {
  const schema = resolved(written);
  if (Array.isArray(value))
    return value.flatMap((item, i) => differences(item, (schema["items"] ?? {}) as Node, `${path}[${i}]`));
  if (typeof value !== "object" || value === null) return [];
  if (schema["additionalProperties"] !== undefined) return [];
  const parents = ((schema["allOf"] ?? []) as Node[]).map(resolved);
  const properties = Object.assign({}, ...[...parents, schema].map((each) => each["properties"] ?? {})) as Record<
    string,
    Node
  >;
  if (Object.keys(properties).length === 0) return [];
  const missing = ((schema["required"] ?? []) as string[]).filter((name) => !Object.hasOwn(value, name));
  return [
    ...missing.map((name) => `${path}.${name} is missing`),
    ...Object.entries(value).flatMap(([name, part]) =>
      Object.hasOwn(properties, name)
        ? differences(part, properties[name]!, `${path}.${name}`)
        : [`${path}.${name} is not described`],
    ),
  ];
}

describe("docs/openapi.yaml", () => {
  it("describes every route, and no other", () => {
    const served = ROUTES.map(({ method, path }) => `${method} ${path.replace(/:(\w+)/g, "{$1}")}`);
    const described = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.keys(methods)
        .filter((key) => key !== "parameters")
        .map((method) => `${method.toUpperCase()} ${path}`),
    );
    expect(described.sort()).toEqual(served.sort());
  });

  it("refers only to what it has", () => {
    const refs = [...readFileSync("docs/openapi.yaml", "utf8").matchAll(/\$ref: "([^"]+)"/g)].map((match) => match[1]!);
    for (const $ref of refs) expect(resolved({ $ref }), $ref).toBeDefined();
  });

  it("knows the filters and reasons", () => {
    const parameters = document.paths["/dead-letters"]!["get"]!.parameters!.map((each) => resolved(each)["name"]);
    expect(parameters.sort()).toEqual([...FILTERS].sort());
    expect(document.components.schemas["Reason"]!["enum"]).toEqual(FAILURE_REASONS);
  });

  it("describes what is answered", async () => {
    const { ask, a } = await startApi();
    const { entry } = await deadLetter(a, { at: Date.now() });
    const schema = (name: string) => ({ $ref: `#/components/schemas/${name}` });
    expect(differences((await ask("GET", "/exporters/a")).body, schema("ExporterStatus"))).toEqual([]);
    expect(differences((await ask("GET", "/dead-letters/stats")).body, schema("Stats"))).toEqual([]);
    const { body } = await ask("POST", "/dead-letters/replay", { ids: [entry.id, "x"], by: "ann" });
    expect(differences(body, schema("Replay"))).toEqual([]);
    const failed = (await ask("GET", `/dead-letters/${entry.id}`)).body.entry;
    expect(failed.cycles).toHaveLength(1);
    expect(differences(failed, schema("Entry"))).toEqual([]);
    expect(differences(entry, schema("Entry"))).toEqual([]);
    expect(differences({ ...entry, colour: 1 }, schema("Entry"))).toEqual(["$.colour is not described"]);
  });
});
