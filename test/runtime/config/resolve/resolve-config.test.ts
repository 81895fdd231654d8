import { describe, expect, it } from "vitest";
import { Registry } from "../../../../src/runtime/host/registry.js";
import { resolve } from "../../../support/agent.js";
import { builtins } from "../../../support/builtins.js";
import { brief, loadText } from "../load-text.js";

/** What is said of a tail_sampling with these keys, at line 4, in a service with this intake. */
function problems(keys: string, intake = "") {
  const text = `receivers: {otlp: {protocols: {grpc: }}}
exporters: {debug: }
processors:
  tail_sampling: {${keys}policies: [{name: all, type: always_sample}]}
service:
  intake: {${intake}}
  pipelines: {traces: {receivers: [otlp], processors: [tail_sampling], exporters: [debug]}}
`;
  return loadText(text, { registry: new Registry(builtins) }).problems;
}

describe("what a processor may hold back", () => {
  it("is fine below what the whole agent takes", () => {
    expect(problems("")).toEqual([]);
    expect(problems("max_bytes: 100MiB, ", "max_bytes: 200MiB")).toEqual([]);
  });

  it("is a warning at its place when the agent would refuse clients first", () => {
    const [problem, ...others] = problems("max_bytes: 64MiB, ");
    expect(others).toEqual([]);
    expect(brief(problem!)).toBe("warning over_intake_limit 4:30 processors.tail_sampling.max_bytes");
    expect(problem!.message).toBe(
      '"tail_sampling" may hold back 64MiB, but service.intake.max_bytes, for the whole agent, is 64MiB: clients are refused before "tail_sampling" makes room',
    );
    expect(problem!.suggestion).toBe("set max_bytes below service.intake.max_bytes, or raise that");
  });

  it("is a warning at the processor when only the intake was made smaller", () => {
    expect(problems("", "max_bytes: 16MiB").map(brief)).toEqual([
      "warning over_intake_limit 4:3 processors.tail_sampling.max_bytes",
    ]);
  });
});

const generation = (yaml: string) => resolve(yaml).generation;
const rest = "service: {pipelines: {logs: {receivers: [otlp], exporters: [nop]}}}";

describe("the generation of a config", () => {
  it("is the same for the same config, however it is written", () => {
    const flow = `receivers: {otlp: {protocols: {http: {endpoint: "127.0.0.1:0"}}}}\nexporters: {nop: }\n${rest}`;
    const block = `# a comment
exporters:
  nop:
${rest}
receivers:
  otlp:
    protocols:
      http:
        endpoint: 127.0.0.1:0
`;
    expect(generation(block)).toBe(generation(flow));
    expect(generation(flow)).toMatch(/^[0-9a-f]{12}$/);
  });

  it("is another one when a value, a key or the order of a list differs", () => {
    const config = (endpoint: string, processors: string) =>
      `receivers: {otlp: {protocols: {http: {endpoint: "${endpoint}"}}}}
processors: {batch: {}, batch/second: {}}
exporters: {nop: }
service: {pipelines: {logs: {receivers: [otlp], processors: [${processors}], exporters: [nop]}}}`;
    const all = [
      config("127.0.0.1:0", "batch, batch/second"),
      config("127.0.0.1:1", "batch, batch/second"),
      config("127.0.0.1:0", "batch/second, batch"),
      config("127.0.0.1:0", "batch"),
    ].map(generation);
    expect(new Set(all).size).toBe(4);
  });
});
