import { describe, expect, it } from "vitest";
import { Registry } from "../../../../src/runtime/config/resolve/registry.js";
import { resolve } from "../../../support/agent.js";
import { builtins } from "../../../support/builtins.js";
import { brief, loadText } from "../load-text.js";

/** Returns the problems of a tail_sampling with these keys, at line 4, in a service with this intake. */
function problems(keys: string, { intake = "", pipeline = "", queues = "" } = {}) {
  const text = `receivers: {otlp: {protocols: {grpc: }}}
exporters: {debug: }
processors:
  tail_sampling: {${keys}policies: [{name: all, type: always_sample}]}
service:
  intake: {${intake}}
  pipelines: {traces: {receivers: [otlp], processors: [tail_sampling], exporters: [debug]${pipeline}}}
extensions: {reliability: {${queues}}}
`;
  return loadText(text, { registry: new Registry(builtins), addDefaults: true }).problems;
}

describe("what a processor may hold back", () => {
  it("is fine below what the whole agent takes", () => {
    expect(problems("")).toEqual([]);
    expect(problems("max_bytes: 100MiB, ", { intake: "max_bytes: 200MiB" })).toEqual([]);
  });

  it("is a warning at its place when what comes would wait on disk before it makes room", () => {
    const [problem, ...others] = problems("max_bytes: 64MiB, ");
    expect(others).toEqual([]);
    expect(brief(problem!)).toBe("warning over_intake_limit 4:30 processors.tail_sampling.max_bytes");
    expect(problem!.message).toBe(
      '"tail_sampling" may hold back 64MiB, but service.intake.max_bytes, for the data inside a pipeline, is 64MiB: new data waits on disk before "tail_sampling" makes room',
    );
    expect(problem!.suggestion).toBe("set max_bytes below service.intake.max_bytes, or raise service.intake.max_bytes");
  });

  it("is a warning when the agent would refuse clients first, where the intake is not durable", () => {
    const [problem] = problems("max_bytes: 64MiB, ", { pipeline: ", intake: {durable: off}" });
    expect(problem!.message).toBe(
      '"tail_sampling" may hold back 64MiB, but service.intake.max_bytes, for the whole agent, is 64MiB: clients are refused before "tail_sampling" makes room',
    );
  });

  it("is a warning at the processor when only the intake was made smaller", () => {
    expect(problems("", { intake: "max_bytes: 16MiB" }).map(brief)).toEqual([
      "warning over_intake_limit 4:3 processors.tail_sampling.max_bytes",
    ]);
  });
});

describe("a pipeline that makes clients wait", () => {
  it.each([
    ["its intake is not durable", { pipeline: ", intake: {durable: off}" }],
    ["queues are turned off", { queues: "sending_queue: {enabled: false}" }],
  ])("is a warning that says how long, when %s", (_, keys) => {
    const found = problems("decision_wait: 7s, ", keys);
    expect(found.map(brief)).toEqual(["warning clients_wait 7:15 service.pipelines.traces"]);
    expect(found[0]!.message).toContain('while "tail_sampling" holds their data, 7 s');
  });

  it("is none when it asks for a journal by name", () => {
    const keys = { queues: "sending_queue: {enabled: false}", pipeline: ", intake: {durable: on}" };
    expect(problems("", keys)).toEqual([]);
  });

  it("must say auto, on or off", () => {
    expect(problems("", { pipeline: ", intake: {durable: maybe}" }).map(brief)).toEqual([
      "error wrong_value 7:110 service.pipelines.traces.intake.durable",
    ]);
    expect(problems("", { pipeline: ", intake: {durabel: on}" }).map(brief)).toEqual([
      "error unknown_key 7:101 service.pipelines.traces.intake.durabel",
    ]);
  });
});

const generation = (yaml: string) => resolve(yaml).generation;
const rest = "service: {pipelines: {logs: {receivers: [otlp], exporters: [nop]}}}";

describe("the generation of a config", () => {
  it("is the same for the same config in any notation", () => {
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

  it("tells two secrets apart, and is the same when the slow part of it was prepared", async () => {
    const config = (password: string) =>
      resolve(`receivers: {otlp: {protocols: {http: {endpoint: "127.0.0.1:0"}}}}
exporters: {otlp_http: {endpoint: "http://127.0.0.1:1", headers: {authorization: ${password}}}}
service: {pipelines: {logs: {receivers: [otlp], exporters: [otlp_http]}}}`);
    const prepared = config("a");
    await prepared.prepareGeneration();
    expect(prepared.generation).toBe(config("a").generation);
    expect(prepared.generation).not.toBe(config("b").generation);
  });
});

describe("keys that have no effect", () => {
  const written = (extension: string) => `receivers: {otlp: {protocols: {grpc: }}}
exporters:
  debug: {durability: interval, durability_interval: 1s}
extensions:
  reliability: {${extension}}
service: {pipelines: {logs: {receivers: [otlp], exporters: [debug]}}}
`;
  const told = (extension: string) =>
    loadText(written(extension), { registry: new Registry(builtins), addDefaults: true }).problems;

  it("are warnings where the queues are on a server", () => {
    const problems = told("directory: ./queue, durability: fsync, store: {postgres: {endpoint: 'localhost:5432'}}");
    expect(problems.map(brief)).toEqual([
      "warning ignored_key 3:11 exporters.debug.durability",
      "warning ignored_key 3:33 exporters.debug.durability_interval",
      "warning ignored_key 5:17 extensions.reliability.directory",
      "warning ignored_key 5:37 extensions.reliability.durability",
    ]);
    expect(problems[0]!.message).toBe(
      '"durability" has no effect: with store.postgres the queues are on the server, and its settings determine when data is on disk',
    );
  });

  it("are fine where the queues are on our disk", () => {
    expect(told("directory: ./queue")).toEqual([]);
  });
});

describe("a misspelt key", () => {
  const problemsOf = (exporter: string, receiver = "protocols: {http: }") =>
    loadText(
      `receivers:
  otlp: {${receiver}}
exporters:
  otlp_http: {${exporter}}
service: {pipelines: {logs: {receivers: [otlp], exporters: [otlp_http]}}}
`,
      { registry: new Registry(builtins), addDefaults: true },
    ).problems.map(({ code, path, suggestion }) => [code, path, suggestion]);

  it("is one problem, even if the key is required", () => {
    expect(problemsOf("endpoint: http://localhost:4318", "protocls: {http: }")).toEqual([
      ["unknown_key", "receivers.otlp.protocls", 'did you mean "protocols"?'],
    ]);
    expect(problemsOf("endpoin: http://localhost:4318")).toEqual([
      ["unknown_key", "exporters.otlp_http.endpoin", 'did you mean "endpoint"?'],
    ]);
  });

  it("hides no problem that it does not cause", () => {
    expect(problemsOf("endpoint: http://localhost:4318, compresion: gzip, timeout: soon", "zzz: 1")).toMatchObject([
      ["missing_key", "receivers.otlp.protocols", undefined],
      ["unknown_key", "receivers.otlp.zzz", undefined],
      ["unknown_key", "exporters.otlp_http.compresion", 'did you mean "compression"?'],
      ["wrong_value", "exporters.otlp_http.timeout", undefined],
    ]);
  });
});
