import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { FILTERS } from "../../../src/extensions/admin-api/parameters.js";
import { ROUTES } from "../../../src/extensions/admin-api/routes.js";
import { FAILURE_REASONS } from "../../../src/runtime/kit.js";
import { deadLetter } from "../reliability/operate/controls.js";
import { startApi } from "./harness.js";
import { differences, document, resolved } from "./openapi-document.js";

describe("docs/openapi.yaml", () => {
  it("describes every route, and no other", () => {
    const served = ROUTES.map(({ method, path }) => `${method} ${path.replace(/:(\w+)/g, "{$1}")}`);
    const described = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.keys(methods)
        .filter((key) => key !== "parameters")
        .map((method) => `${method.toUpperCase()} ${path}`),
    );
    expect(described.sort()).toEqual(["GET /", ...served].sort());
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
