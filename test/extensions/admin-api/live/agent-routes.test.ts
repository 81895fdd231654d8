import { describe, expect, it } from "vitest";
import { undescribed } from "../openapi-document.js";
import { startRunningApi } from "../running-agent.js";

const CONFIG = `
processors:
  transform: {log_statements: ['set(log.attributes["api_key"], "s3cret-9f8e7d6c5b4a")']}
  filter/noise: {logs: {log_record: ['severity_number < 9']}}
connectors: {routing: {table: [{condition: 'attributes["a"] == "b"', pipelines: [logs/b]}], default_pipelines: [logs/b]}}
exporters: {debug: }
service:
  extensions: [reliability, admin]
  pipelines:
    logs/a: {receivers: [hand], processors: [transform, filter/noise], exporters: [debug, routing]}
    logs/b: {receivers: [routing, hand], exporters: [debug]}
    traces: {receivers: [hand], exporters: [debug]}
`;

describe("GET /agent", () => {
  it("describes the agent: version, start time and components", async () => {
    const facts = {
      warnings: [
        {
          severity: "warning",
          code: "unknown_key",
          place: { file: "a.yaml", line: 3, column: 7 },
          path: "x",
          message: "odd",
          suggestion: "write y",
        },
      ],
      shown: () => ({}),
    } as const;
    const { ask } = await startRunningApi(CONFIG, { configFacts: facts });
    const { status, body } = await ask("GET", "/agent");
    expect(status).toBe(200);
    expect(body).toMatchObject({
      name: "sluice",
      version: expect.stringMatching(/^\d/),
      state: "ready",
      generation: expect.any(String),
      pipelines: ["logs/a", "logs/b", "traces"],
      warnings: [{ message: "odd (write y)", place: "a.yaml:3:7" }],
    });
    expect(undescribed(body, "Agent")).toEqual([]);
    expect(new Date(body.startedAt).toISOString()).toBe(body.startedAt);
  });

  it("knows no parameters", async () => {
    const { ask } = await startRunningApi(CONFIG);
    expect((await ask("GET", "/agent?x=1")).status).toBe(400);
    expect((await ask("GET", "/graph?x=1")).status).toBe(400);
  });
});

describe("GET /graph", () => {
  it("has a processor once per pipeline and any other component once", async () => {
    const { ask } = await startRunningApi(CONFIG);
    const { nodes } = (await ask("GET", "/graph")).body;
    expect(nodes.map(({ id }: { id: string }) => id)).toEqual([
      "receiver:hand",
      "processor:logs/a:transform",
      "processor:logs/a:filter/noise",
      "connector:routing",
      "exporter:debug",
    ]);
    expect(nodes[0]).toEqual({
      id: "receiver:hand",
      kind: "receiver",
      name: "hand",
      type: "hand",
      pipelines: ["logs/a", "logs/b", "traces"],
      signals: ["logs", "traces"],
    });
    expect(nodes[2]).toMatchObject({ name: "filter/noise", type: "filter", pipelines: ["logs/a"] });
  });

  it("leads from each receiver through the processors to each exporter", async () => {
    const { ask } = await startRunningApi(CONFIG);
    const { body } = await ask("GET", "/graph");
    const { edges } = body;
    expect(undescribed(body, "Graph")).toEqual([]);
    const shown = edges.map((edge: Record<string, string>) => `${edge["pipeline"]}: ${edge["from"]} > ${edge["to"]}`);
    expect(shown).toEqual([
      "logs/a: receiver:hand > processor:logs/a:transform",
      "logs/a: processor:logs/a:transform > processor:logs/a:filter/noise",
      "logs/a: processor:logs/a:filter/noise > exporter:debug",
      "logs/a: processor:logs/a:filter/noise > connector:routing",
      "logs/b: connector:routing > exporter:debug",
      "logs/b: receiver:hand > exporter:debug",
      "traces: receiver:hand > exporter:debug",
    ]);
    const ids = edges.map(({ id }: { id: string }) => id);
    expect(new Set(ids).size).toBe(ids.length);
  });
});

describe("GET /graph/nodes/{id}/config", () => {
  it("shows the config of a node as YAML and JSON", async () => {
    const shown = { processors: { "filter/noise": { error_mode: "ignore" } } };
    const { ask } = await startRunningApi(CONFIG, { configFacts: { warnings: [], shown: () => shown } });
    const { body } = await ask("GET", `/graph/nodes/${encodeURIComponent("processor:logs/a:filter/noise")}/config`);
    expect(body).toEqual({ yaml: "error_mode: ignore\n", json: { error_mode: "ignore" } });
  });

  it("answers 404 for an unknown node", async () => {
    const { ask } = await startRunningApi(CONFIG);
    const { status, body } = await ask("GET", "/graph/nodes/receiver%3Aotlp/config");
    expect([status, body.error.code]).toEqual([404, "not_found"]);
  });
});
