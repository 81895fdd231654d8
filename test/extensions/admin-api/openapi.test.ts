import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { API_ERRORS } from "../../../src/extensions/admin-api/http-error.js";
import { FILTERS } from "../../../src/extensions/admin-api/parameters.js";
import { REPLAY_KEYS } from "../../../src/extensions/admin-api/replay-routes.js";
import { ROUTES } from "../../../src/extensions/admin-api/routes.js";
import { AUDITED_ACTIONS } from "../../../src/runtime/contract/operations/audit.js";
import { FAILURE_REASONS } from "../../../src/runtime/contract/operations/failure-reasons.js";
import { deadLetter } from "../../runtime/queue/operate/controls.js";
import { startApi } from "./harness.js";
import { differences, document, resolved } from "./openapi-document.js";

interface JsonResponse {
  readonly content?: { readonly "application/json": { readonly schema: Record<string, unknown> } };
}

const script = new URL("../../../scripts/pages/openapi.js", import.meta.url).href;
const { openapi } = (await import(script)) as { openapi: (tables: object) => string };

describe("docs/openapi.yaml", () => {
  it("says what the routes and their answers say (npm run build && node scripts/pages/openapi.js makes it)", () => {
    const enums = { AuditedAction: AUDITED_ACTIONS, Reason: FAILURE_REASONS };
    const made = openapi({ routes: ROUTES, apiErrors: API_ERRORS, filters: FILTERS, enums });
    expect(readFileSync("docs/openapi.yaml", "utf8")).toBe(made);
  });

  it("describes every route, and no other", () => {
    const served = ROUTES.map(({ method, path }) => `${method} ${path.replace(/:(\w+)/g, "{$1}")}`);
    const described = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.keys(methods)
        .filter((key) => key !== "parameters")
        .map((method) => `${method.toUpperCase()} ${path}`),
    );
    expect(described.sort()).toEqual(["GET /", ...served].sort());
  });

  it("contains no dangling references", () => {
    const refs = [...readFileSync("docs/openapi.yaml", "utf8").matchAll(/\$ref: "([^"]+)"/g)].map((match) => match[1]!);
    for (const $ref of refs) expect(resolved({ $ref }), $ref).toBeDefined();
  });

  it("lists the filters and reasons", () => {
    const parameters = document.paths["/dead-letters"]!["get"]!.parameters!.map((each) => resolved(each)["name"]);
    expect(parameters.sort()).toEqual([...FILTERS, "by"].sort());
    expect(document.components.schemas["Reason"]!["enum"]).toEqual(FAILURE_REASONS);
  });

  it("lists the keys of a replay", () => {
    const { schema } = document.paths["/dead-letters/replay"]!["post"]!.requestBody!.content["application/json"]!;
    expect(Object.keys(schema["properties"] as object).sort()).toEqual([...REPLAY_KEYS].sort());
  });

  it("describes what every route of dead letters and replays answers", async () => {
    const { ask, a } = await startApi();
    const [one, other] = [(await deadLetter(a)).entry, (await deadLetter(a)).entry];
    const asked = async (method: string, path: string, body?: unknown, pattern = path.split("?")[0]!) => {
      const answer = await ask(method, path, body);
      const { responses } = document.paths[pattern]![method.toLowerCase()]!;
      const described = resolved(responses![String(answer.status)] ?? { missing: answer.status }) as JsonResponse;
      expect([path, differences(answer.body, described.content!["application/json"].schema)]).toEqual([path, []]);
      return answer.body;
    };
    const why = { by: "ann", reason: "test" };
    const ofOne = (rest = "") => [`/dead-letters/${one.id}${rest}`, `/dead-letters/{id}${rest.split("?")[0]}`] as const;
    await asked("GET", "/dead-letters");
    await asked("GET", "/dead-letters/groups");
    await asked("GET", "/dead-letters/stats");
    await asked("GET", ofOne("?payload=true")[0], undefined, ofOne()[1]);
    const { payload } = await asked("POST", ofOne("/reveal")[0], why, ofOne("/reveal")[1]);
    await asked("POST", ofOne("/edit")[0], { ...why, revision: 0, payload }, ofOne("/edit")[1]);
    await asked("GET", ofOne("?payload=true&revision=0")[0], undefined, ofOne()[1]);
    const transform = ['set(log.body, "y")'];
    await asked("POST", "/dead-letters/replay", { all: true, ...why, transform, dryRun: true, samples: 2 });
    const { id } = await asked("POST", "/dead-letters/replay", { ids: [one.id, "x"], ...why, transform });
    await asked("GET", "/replays");
    await asked("GET", `/replays/${id}`, undefined, "/replays/{id}");
    const startSlowReplay = async () => {
      const ids = [(await deadLetter(a)).entry.id, (await deadLetter(a)).entry.id];
      return asked("POST", "/dead-letters/replay", { ids, ...why, rate: 0.001 });
    };
    const running = await startSlowReplay();
    for (const change of ["pause", "resume", "cancel"])
      await asked("POST", `/replays/${running.id}/${change}`, why, `/replays/{id}/${change}`);
    const { id: deleted } = await startSlowReplay();
    await asked("DELETE", `/replays/${deleted}`, undefined, "/replays/{id}");
    await asked("GET", "/console");
    await asked("DELETE", `/dead-letters/${other.id}`, undefined, "/dead-letters/{id}");
    await asked("POST", "/dead-letters/purge", { all: true });
    await asked("POST", "/dead-letters/restore", { all: true });
    await asked("GET", "/audit");
    await asked("GET", "/exporters");
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
