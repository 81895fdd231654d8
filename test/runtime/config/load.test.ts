// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the config language is written with ${}
import { existsSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { loadConfig } from "../../../src/runtime/config/load.js";
import { Registry } from "../../../src/runtime/config/resolve/registry.js";
import { defineExtension } from "../../../src/runtime/contract/define.js";
import { builtins } from "../../support/builtins.js";
import { fakes } from "./fakes.js";
import { brief, GOOD, loadText, problemsIn, withExporter } from "./load-text.js";

const PIPELINE = "service: {pipelines: {logs: {receivers: [otlp], exporters: [debug]}}}";

describe("loadConfig", () => {
  it.runIf(existsSync("/dev/zero"))("rejects a file without end", () => {
    const { problems } = loadConfig({ sources: [{ file: "/dev/zero" }], registry: new Registry([]) });
    expect(problems).toMatchObject([{ code: "unreadable_file", message: expect.stringContaining("16 MiB") }]);
  });

  it("resolves a good config", () => {
    const { config, problems } = loadText(GOOD);
    expect(problems).toEqual([]);
    expect(config?.pipelines).toEqual([
      {
        id: "logs",
        signal: "logs",
        receivers: ["otlp"],
        processors: ["batch"],
        exporters: ["debug"],
        durableIntake: "auto",
        errorMode: "propagate",
      },
    ]);
    expect(config?.receivers.get("otlp")?.config).toMatchObject({
      protocols: { grpc: { endpoint: "localhost:4317" }, http: { endpoint: "0.0.0.0:4318" } },
    });
    expect(config?.processors.get("batch")).toMatchObject({ path: "processors.batch", config: { timeout: 200 } });
    expect(config?.service).toMatchObject({ shutdown_timeout: 10_000, telemetry: { logs: { level: "info" } } });
  });

  it("knows the place of each key, and the nearest written key of a missing one", () => {
    const { config } = loadText(GOOD);
    const otlp = config!.receivers.get("otlp")!;
    expect(otlp.placeOf(["protocols", "http", "endpoint"])).toEqual({ file: "c.yaml", line: 6, column: 19 });
    expect(otlp.placeOf(["protocols", "grpc", "endpoint"])).toEqual({ file: "c.yaml", line: 4, column: 7 });
    expect(otlp.placeOf([])).toEqual({ file: "c.yaml", line: 2, column: 3 });
    expect(config!.placeOf(["service", "pipelines"])).toEqual({ file: "c.yaml", line: 12, column: 3 });
    expect(config!.placeOf(["service", "telemetry", "metrics"])).toBeUndefined();
  });

  it.each([
    [
      "empty sections",
      `receivers: {otlp: {protocols: }}\nprocessors:\nextensions:\nconnectors:\nexporters: {debug: }\n${PIPELINE}`,
    ],
    ["empty lists of processors", GOOD.replace("[batch]", "[]").replace("processors:\n  batch:\n", "")],
    ["an empty telemetry section", `${GOOD}  telemetry:\n`],
    ["words in any case", GOOD.replace("  debug:\n", "  debug: {verbosity: Detailed}\n")],
    ["keys in another case", GOOD.replace("  debug:\n", "  debug: {Verbosity: detailed}\n")],
    ["old names of components", GOOD.replace("  debug:\n", "  logging:\n").replace("[debug]", "[logging]")],
    [
      "blanks around the slash of an id",
      GOOD.replace("  debug:\n", '  "debug / a":\n').replace("[debug]", "[debug/a]"),
    ],
    ["a key with nothing behind it", GOOD.replace("  batch:\n", "  batch:\n    timeout:\n    metadata_keys:\n")],
    [
      "anchors and merge keys",
      withExporter("otlphttp", "sending_queue: &q {enabled: false}\nretry_on_failure: {<<: *q}\nendpoint: http://h"),
    ],
    ["Windows line ends", GOOD.replaceAll("\n", "\r\n")],
    [
      "the metrics readers of the Collector",
      `${GOOD}  telemetry: {metrics: {readers: [{pull: {exporter: {prometheus: {host: 127.0.0.1, port: 8888}}}}]}}`,
    ],
    ["a level in capitals", `${GOOD}  telemetry: {logs: {level: INFO}}`],
  ])("accepts %s", (_, text) => {
    expect(problemsIn(text)).toEqual([]);
  });

  it.each([
    ["an unknown section", `${GOOD}recievers: {}`, "error unknown_key 17:1 recievers"],
    ["an unknown key", withExporter("debug", "verbosty: basic"), "error unknown_key 5:5 exporters.debug.verbosty"],
    [
      "an unknown key of a common section",
      withExporter("debug", "sending_queue: {size: 1}"),
      "error unknown_key 5:21 exporters.debug.sending_queue.size",
    ],
    ["a missing key", withExporter("otlphttp", "encoding: json"), "error missing_key 4:3 exporters.otlphttp.endpoint"],
    ["a wrong type", withExporter("otlphttp", "endpoint: [a]"), "error wrong_type 5:5 exporters.otlphttp.endpoint"],
    ["a wrong word", withExporter("debug", "verbosity: loud"), "error wrong_value 5:16 exporters.debug.verbosity"],
    [
      "a value of no member of a union",
      withExporter("otlphttp", "endpoint: x\nport: [1]"),
      "error wrong_type 6:5 exporters.otlphttp.port",
    ],
    [
      "a number over its limit",
      withExporter("otlphttp", "endpoint: x\nport: 70000"),
      "error wrong_value 6:11 exporters.otlphttp.port",
    ],
    ["a bad duration", withExporter("debug", "timeout: soon"), "error wrong_value 5:14 exporters.debug.timeout"],
    [
      "a duration without a unit",
      withExporter("debug", "timeout: 5000000000"),
      "warning integer_duration 5:14 exporters.debug.timeout",
    ],
    [
      "a deprecated key",
      withExporter("otlphttp", "endpoint: x\nold_endpoint: y"),
      "warning deprecated_key 6:5 exporters.otlphttp.old_endpoint",
    ],
    [
      "a key without effect",
      GOOD.replace("      grpc:\n", "      grpc: {keepalive: {time: 5}}\n"),
      "warning ignored_key 4:14 receivers.otlp.protocols.grpc.keepalive",
    ],
    [
      "a component that is a list",
      GOOD.replace("  debug:\n", "  debug: []\n"),
      "error wrong_type 10:3 exporters.debug",
    ],
    [
      "an id that is none",
      GOOD.replace("  debug:\n", "  debug:\n  debug/:\n"),
      "error invalid_id 11:3 exporters.debug/",
    ],
    [
      "ids that are the same",
      GOOD.replace("  debug:\n", "  debug:\n  debug/a:\n  debug / a:\n"),
      "error duplicate_id 12:3 exporters.debug / a",
    ],
    ["a duplicate key", GOOD.replace("  debug:\n", "  debug:\n  debug:\n"), "error duplicate_key 11:3"],
    [
      "an unknown type that is used",
      GOOD.replace("  debug:\n", "  debgu:\n").replace("[debug]", "[debgu]"),
      "error unknown_component 10:3 exporters.debgu",
    ],
    [
      "an unknown type that is not used",
      GOOD.replace("  debug:\n", "  debug:\n  kafka:\n"),
      "warning unknown_component 11:3 exporters.kafka",
    ],
    [
      "an extension that does nothing",
      `extensions: {memory_ballast: {size_mib: 5}}\n${GOOD}  extensions: [memory_ballast]`,
      "warning no_effect 1:14 extensions.memory_ballast",
    ],
    [
      "a config without service",
      "receivers: {otlp: {protocols: }}\nexporters: {debug: }",
      "error missing_key 1:1 service",
    ],
    [
      "a config without pipelines",
      "exporters: {debug: }\nservice: {pipelines: }",
      "error missing_key 2:11 service.pipelines",
    ],
    [
      "a bad service key",
      `${GOOD}  telemetry: {logs: {levle: info}}`,
      "error unknown_key 17:22 service.telemetry.logs.levle",
    ],
  ])("reports %s with its place and path", (_, text, problem) => {
    expect(problemsIn(text)).toEqual([problem]);
  });

  it.each([
    [
      "an extension that is not switched on",
      `${GOOD}extensions: {health_check: {endpoint: 0.0.0.0:13133}}`,
      'extension "health_check" is not used: service.extensions does not name it',
    ],
    [
      "an exporter that no pipeline has",
      GOOD.replace("  debug:\n", "  debug:\n  otlphttp/spare: {endpoint: http://h}\n"),
      'exporter "otlphttp/spare" is not used: no pipeline names it',
    ],
  ])("warns of %s, and runs", (_, text, message) => {
    const { config, problems } = loadText(text);
    expect(problems).toMatchObject([{ severity: "warning", code: "unused_component", message }]);
    expect(config).toBeDefined();
  });

  it("does not say of what a wrong name meant that it is not used", () => {
    expect(problemsIn(GOOD.replace("[batch]", "[btach]"))).toEqual([
      "error undefined_reference 15:20 service.pipelines.logs.processors.0",
    ]);
  });

  it.each([
    ["a mistyped service", GOOD.replace("service:", "servise:"), ["error unknown_key 11:1 servise"]],
    [
      "a mistyped section, and what is wrong in it",
      GOOD.replace("processors:\n  batch:\n", "procesors:\n  batch: {timout: 1s}\n"),
      ["error unknown_key 7:1 procesors", "error unknown_key 8:11 processors.batch.timout"],
    ],
    ["mistyped pipelines", GOOD.replace("pipelines:", "pipeline:"), ["error unknown_key 12:3 service.pipeline"]],
    [
      "a key that stands twice, and what is wrong under the first",
      GOOD.replace("  batch:\n", "  batch: {timout: 1s}\n  batch: {send_batch_size: 1}\n"),
      ["error unknown_key 8:11 processors.batch.timout", "error duplicate_key 9:3"],
    ],
  ])("says only of %s", (_, text, problems) => {
    expect(problemsIn(text)).toEqual(problems);
  });

  it("accepts file_storage, and says that queues are durable without it", () => {
    const text = withExporter("otlphttp", "endpoint: http://h\nsending_queue: {storage: file_storage/a}").replace(
      "service: {",
      "extensions: {file_storage/a: {directory: /var/lib/otelcol}}\nservice: {extensions: [file_storage/a], ",
    );
    const { config, problems } = loadText(text);
    expect(config?.extensions.size).toBe(0);
    expect(problems).toMatchObject([
      { severity: "warning", code: "no_effect", message: expect.stringContaining("durable anyway") },
      { severity: "warning", code: "ignored_key", path: "exporters.otlphttp.sending_queue.storage" },
    ]);
  });

  it("accepts a list of headers as a map", () => {
    const headers = (text: string) =>
      loadText(withExporter("otlphttp", `endpoint: http://h\nheaders: ${text}`)).config?.exporters.get("otlphttp")
        ?.config;
    const list = "[{name: X-Tenant, value: 1_0}, {name: Authorization, value: Bearer x}]";
    expect(headers(list)).toEqual(headers("{X-Tenant: 1_0, Authorization: Bearer x}"));
    expect(headers(list)).toMatchObject({ headers: { "X-Tenant": "1_0", Authorization: "Bearer x" } });
  });

  it("reports a section that is a list, and not that nothing is in it", () => {
    expect(problemsIn(GOOD.replace("processors:\n  batch:\n", "processors: [batch]\n"))).toEqual([
      "error wrong_type 7:13 processors",
    ]);
  });

  it("reports everything at once, in the order of the file", () => {
    const text = GOOD.replace("grpc:", "grcp:")
      .replace("  batch:\n", "  batch: {timeout: soon}\n")
      .replace("[debug]", "[debg]");
    expect(problemsIn(text)).toEqual([
      "error unknown_key 4:7 receivers.otlp.protocols.grcp",
      "error wrong_value 8:20 processors.batch.timeout",
      "error undefined_reference 16:19 service.pipelines.logs.exporters.0",
    ]);
  });

  it.each([
    [withExporter("debug", "verbosty: basic"), 'unknown key "verbosty"', 'did you mean "verbosity"?'],
    [withExporter("debug", "sending_que: {}"), 'unknown key "sending_que"', 'did you mean "sending_queue"?'],
    [
      withExporter("debug", "verbosity: detaled"),
      'expected "basic", "normal" or "detailed", got the text "detaled"',
      'did you mean "detailed"?',
    ],
    [withExporter("otlphttp", "encoding: json"), '"endpoint" is required: expected text', undefined],
    [
      withExporter("debug", 'sending_queue: {queue_size: "5"}'),
      'expected a number, got the text "5"',
      "write 5 without quotes",
    ],
    [
      withExporter("debug", 'sending_queue: {enabled: "true"}'),
      'expected true or false, got the text "true"',
      "write true without quotes",
    ],
    [withExporter("debug", "sending_queue: {num_consumers: 0}"), "expected a number of more than 0, got 0", undefined],
    [withExporter("debug", "sending_queue: {queue_size: 1.5}"), "expected a whole number, got 1.5", undefined],
    [
      withExporter("debug", "retry_on_failure: {randomization_factor: 2}"),
      "expected a number of at most 1, got 2",
      undefined,
    ],
    [withExporter("otlphttp", "endpoint: x\nport: [1]"), 'expected a number or "auto", got a list', undefined],
    [
      withExporter("debug", "timeout: 5000000000"),
      "a duration without a unit is in nanoseconds, as in the Collector",
      "write 5s for this",
    ],
    [
      withExporter("debug", "timeout: 10"),
      "a duration without a unit is in nanoseconds, as in the Collector",
      "write 10ns for this, or 10s for seconds",
    ],
    [withExporter("debug", "timeout: soon"), "expected a duration such as 50ms, 5s or 1m", undefined],
    [
      withExporter("debug", 'dead_letter: {auto_replay: {schedule: "0 25 * * *"}}'),
      'hour: expected 0 to 23, not "25"',
      undefined,
    ],
    [
      withExporter("debug", "dead_letter: {auto_replay: {time_zone: Berlin}}"),
      "expected a time zone such as UTC or Europe/Berlin",
      undefined,
    ],
    [
      GOOD.replace("  debug:\n", "  debgu:\n").replace("[debug]", "[debgu]"),
      'there is no exporter of type "debgu"',
      'did you mean "debug"?',
    ],
    [
      GOOD.replace("  batch:\n", "  health_check:\n").replace("[batch]", "[health_check]"),
      'there is no processor of type "health_check"; there is an extension of that name',
      undefined,
    ],
    [GOOD.replace("[batch]", "batch"), "expected a list of component ids", "write a list: [batch]"],
    [
      GOOD.replace("http:", "http: {cors: {allowed_origins: true}}").replace("        endpoint: 0.0.0.0:4318\n", ""),
      "expected a list, got true",
      "write a list: [true]",
    ],
  ])("says what to write (%#)", (text, message, suggestion) => {
    expect(loadText(text).problems[0]).toMatchObject({ message, ...(suggestion === undefined ? {} : { suggestion }) });
  });

  it("keeps an exporter's own keys and the common ones apart", () => {
    const text = withExporter("otlphttp", "endpoint: x\nretry_on_failure: {enabled: false}");
    expect(loadText(text).config?.exporters.get("otlphttp")).toMatchObject({
      config: { endpoint: "x", encoding: "proto", headers: {} },
      settings: { retry_on_failure: { enabled: false } },
    });
  });

  it("puts what is written over an exporter's own defaults", () => {
    const text = withExporter("otlphttp", "endpoint: x\ntimeout: 1s");
    expect(loadText(text).config?.exporters.get("otlphttp")?.settings.timeout).toBe(1000);
  });

  it("leaves out what is not used and what does nothing", () => {
    const text = GOOD.replace("  batch:\n", "  batch:\n  batch/spare:\n  queued_retry:\n").replace(
      "[batch]",
      "[queued_retry, batch]",
    );
    const { config } = loadText(text);
    expect([...config!.processors.keys()]).toEqual(["batch"]);
    expect(config?.pipelines[0]?.processors).toEqual(["batch"]);
  });

  it("gives advice by type for what only the Collector has, and no name that looks alike", () => {
    const text = GOOD.replace("  debug:\n", "  honeycomb:\n  debgu:\n").replace("[debug]", "[honeycomb, debgu]");
    expect(loadText(text).problems.map(({ suggestion }) => suggestion)).toEqual([
      expect.stringContaining("api.honeycomb.io"),
      'did you mean "debug"?',
    ]);
  });

  it("takes a receiver that does nothing any more, and warns of a pipeline that has no other", () => {
    const { config, problems } = loadText(
      GOOD.replace("receivers:", "receivers:\n  opencensus:").replace("[otlp]", "[opencensus]"),
    );
    expect(config?.pipelines[0]?.receivers).toEqual([]);
    expect(problems.map(({ severity, code }) => `${severity} ${code}`)).toContain("warning no_receivers");
  });

  it("refuses a pipeline whose only exporter does nothing any more", () => {
    const text = GOOD.replace("  debug:\n", "  opencensus:\n").replace("[debug]", "[opencensus]");
    expect(problemsIn(text)).toContainEqual(expect.stringMatching(/^error no_exporters .*exporters$/));
  });

  it("reads TLS keys beside the endpoint as those under tls, which win, and warns", () => {
    const old = "endpoint: https://h\ninsecure_skip_verify: true\nca_file: a\ntls: {ca_file: b}";
    const { config, problems } = loadText(withExporter("otlphttp", old), { registry: new Registry(builtins) });
    expect(config?.exporters.get("otlphttp")?.config).toMatchObject({
      tls: { ca_file: "b", insecure_skip_verify: true },
    });
    expect(problems.map(brief)).toEqual([
      "warning deprecated_key 6:5 exporters.otlphttp.insecure_skip_verify",
      "warning deprecated_key 7:5 exporters.otlphttp.ca_file",
    ]);
    const plain = withExporter("debug", "insecure: true");
    expect(problemsIn(plain)).toEqual(["error unknown_key 5:5 exporters.debug.insecure"]);
  });

  it("points from a key of old to its successor", () => {
    expect(loadText(withExporter("otlphttp", "endpoint: x\nqueue: {}")).problems[0]?.suggestion).toBe(
      'it became "sending_queue"',
    );
  });

  it("runs an extension that is on by default with what is written for it, named in service.extensions or not", () => {
    const always = defineExtension({
      type: "always",
      summary: "Runs in every agent.",
      onByDefault: true,
      schema: z.strictObject({ size: z.number().default(1) }),
      create: () => ({ start: async () => {}, stop: async () => {} }),
    });
    const options = { registry: new Registry([...fakes, always]), addDefaults: true };
    const extensionsOf = (text: string) =>
      [...loadText(text, options).config!.extensions].map(([id, { config }]) => ({ id, ...(config as object) }));
    const written = `${GOOD}extensions: {always/a: {size: 2}, always/b: {size: 3}}\n`;
    expect(extensionsOf(GOOD)).toEqual([{ id: "always", size: 1 }]);
    expect(extensionsOf(written)).toEqual([{ id: "always/a", size: 2 }]);
    expect(extensionsOf(written.replace("service:", "service:\n  extensions: [always/b]"))).toEqual([
      { id: "always/b", size: 3 },
    ]);
    expect(problemsIn(`${GOOD}extensions: {always: {sise: 2}}\n`, options)).toEqual([
      "error unknown_key 17:23 extensions.always.sise",
    ]);
  });
});
