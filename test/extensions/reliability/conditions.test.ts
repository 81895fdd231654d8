import { describe, expect, it } from "vitest";
import { builtinRegistry } from "../../../src/agent/builtins/builtins.js";
import { loadConfigWithPlugins } from "../../../src/runtime/host/plugins/load-config-with-plugins.js";

const config = (filter: string) => `
receivers: {otlp: {protocols: {http: }}}
exporters: {otlp_http: {endpoint: "http://localhost:4318", dead_letter: {filter: ${filter}}}}
service: {pipelines: {logs: {receivers: [otlp], exporters: [otlp_http]}}}
`;

const problemsOf = async (filter: string) => {
  const sources = [{ text: config(filter), name: "c.yaml" }];
  const { problems } = await loadConfigWithPlugins({ sources, registry: builtinRegistry });
  return problems.map(({ path, message }) => [path, message]);
};

// This file must not load all built-in components, because that loads OTTL too.
describe("the condition of a dead letter filter", () => {
  it("is checked in a config that needs OTTL for nothing else", async () => {
    expect(await problemsOf("{}")).toEqual([]);
    const [problem] = await problemsOf(`{save_if: "severity_number >"}`);
    expect(problem).toEqual(["exporters.otlp_http.dead_letter.filter.save_if", expect.stringContaining("expected")]);
    expect(await problemsOf(`{save_if: "severity_number > 9"}`)).toEqual([]);
  });
});
