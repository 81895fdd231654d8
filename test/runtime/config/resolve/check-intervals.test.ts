import { describe, expect, it } from "vitest";
import { Registry } from "../../../../src/runtime/config/resolve/registry.js";
import { builtins } from "../../../support/builtins.js";
import { brief, loadText } from "../load-text.js";

function problems(exporter: string, defaults = "") {
  const text = `receivers: {otlp: {protocols: {grpc: }}}
exporters:
  otlp_http: {endpoint: "http://localhost:1", retry_on_failure: {${exporter}}}
extensions: {reliability: {retry_on_failure: {${defaults}}}}
service:
  extensions: [reliability]
  pipelines: {traces: {receivers: [otlp], exporters: [otlp_http]}}
`;
  return loadText(text, { registry: new Registry(builtins), addDefaults: true }).problems;
}

describe("initial_interval above max_interval", () => {
  it("is refused at its place, with both values", () => {
    const [problem, ...others] = problems("initial_interval: 2m, max_interval: 30s");
    expect(others).toEqual([]);
    expect(brief(problem!)).toBe("error wrong_value 3:84 exporters.otlp_http.retry_on_failure.initial_interval");
    expect(problem!.message).toBe("initial_interval (2m) is above max_interval (30s)");
    expect(problem!.suggestion).toBe("raise max_interval, or lower initial_interval");
  });

  it("is refused also where the other one is the default, or that of the extension", () => {
    const path = "exporters.otlp_http.retry_on_failure";
    expect(problems("initial_interval: 2m").map(({ path }) => path)).toEqual([`${path}.initial_interval`]);
    expect(problems("max_interval: 5s", "initial_interval: 10s").map(({ path }) => path)).toEqual([
      `${path}.max_interval`,
    ]);
    expect(problems("initial_interval: 20s", "max_interval: 10s").map(({ path }) => path)).toEqual([
      `${path}.initial_interval`,
    ]);
    expect(problems("", "initial_interval: 2m").map(({ path }) => path)).toEqual([
      "extensions.reliability.retry_on_failure.initial_interval",
    ]);
  });

  it("is fine when both are equal, or the extension has the longer one", () => {
    expect(problems("initial_interval: 2m", "max_interval: 5m")).toEqual([]);
    expect(problems("initial_interval: 1h, max_interval: 1h")).toEqual([]);
    expect(problems("max_interval: 500ms")).toEqual([]);
    expect(problems("")).toEqual([]);
  });
});
