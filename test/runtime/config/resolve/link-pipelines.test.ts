import { describe, expect, it } from "vitest";
import { brief, loadText, withoutUnused } from "../load-text.js";

/** A config with every fake component, around these pipelines. */
function pipelines(text: string) {
  return `receivers: {otlp: {protocols: }, lines: {path: x}}
processors: {batch: , batch/b: , memory_limiter: }
exporters: {debug: , debug/b: }
connectors: {forward: , forward/b: , count: }
extensions: {health_check: }
service:
  pipelines:
${text
  .trim()
  .split("\n")
  .map((line) => `    ${line.trim()}`)
  .join("\n")}
`;
}

const problems = (text: string, options = {}) => withoutUnused(loadText(pipelines(text), options).problems);

describe("pipelines", () => {
  it.each([
    [
      "a name that is not defined",
      "logs: {receivers: [otlpp], exporters: [debug]}",
      "error undefined_reference 8:24 service.pipelines.logs.receivers.0",
    ],
    [
      "an exporter among the receivers",
      "logs: {receivers: [debug], exporters: [debug]}",
      "error wrong_kind 8:24 service.pipelines.logs.receivers.0",
    ],
    [
      "a connector among the processors",
      "logs: {receivers: [otlp], processors: [forward], exporters: [debug]}",
      "error wrong_kind 8:44 service.pipelines.logs.processors.0",
    ],
    [
      "a signal that a receiver does not have",
      "traces: {receivers: [lines], exporters: [debug]}",
      "error unsupported_signal 8:26 service.pipelines.traces.receivers.0",
    ],
    [
      "a processor twice",
      "logs: {receivers: [otlp], processors: [batch, batch/b, batch], exporters: [debug]}",
      "error duplicate_processor 8:60 service.pipelines.logs.processors.2",
    ],
    [
      "a receiver twice",
      "logs: {receivers: [otlp, otlp], exporters: [debug]}",
      "warning repeated_reference 8:30 service.pipelines.logs.receivers.1",
    ],
    [
      "no receivers",
      "logs: {receivers: [], exporters: [debug]}",
      "error no_receivers 8:5 service.pipelines.logs.receivers",
    ],
    [
      "receivers that are no list, and not that there are none",
      "logs: {receivers: otlp, exporters: [debug]}",
      "error wrong_type 8:23 service.pipelines.logs.receivers",
    ],
    [
      "a mistyped list, and not that it is missing",
      "logs: {receivers: [otlp], exportrs: [debug]}",
      "error unknown_key 8:31 service.pipelines.logs.exportrs",
    ],
    [
      "a connector of a list that is none, and not that it leads nowhere",
      "logs: {receivers: [otlp], exporters: [forward]}\nlogs/b: {receivers: forward, exporters: [debug]}",
      "error wrong_type 9:25 service.pipelines.logs/b.receivers",
    ],
    ["no exporters", "logs: {receivers: [otlp]}", "error no_exporters 8:5 service.pipelines.logs.exporters"],
    [
      "an unknown signal",
      "log: {receivers: [otlp], exporters: [debug]}",
      "error unknown_signal 8:5 service.pipelines.log",
    ],
    [
      "profiles",
      "logs: {receivers: [otlp], exporters: [debug]}\nprofiles: {receivers: [otlp], exporters: [debug]}",
      "warning no_effect 9:5 service.pipelines.profiles",
    ],
    ["only profiles", "profiles: {receivers: [otlp], exporters: [debug]}", "error missing_key 7:3 service.pipelines"],
    [
      "an unknown key",
      "logs: {receivers: [otlp], exporters: [debug], procesors: []}",
      "error unknown_key 8:51 service.pipelines.logs.procesors",
    ],
    [
      "a memory limiter that is not first",
      "logs: {receivers: [otlp], processors: [batch, memory_limiter], exporters: [debug]}",
      "warning limiter_not_first 8:51 service.pipelines.logs.processors.1",
    ],
    [
      "a connector that leads nowhere",
      "logs: {receivers: [otlp], exporters: [forward]}",
      "error connector_one_sided 8:43 service.pipelines.logs.exporters.0",
    ],
    [
      "a connector that gets nothing",
      "logs: {receivers: [forward], exporters: [debug]}",
      "error connector_one_sided 8:24 service.pipelines.logs.receivers.0",
    ],
    [
      "an empty name",
      "logs: {receivers: [otlp], exporters: [debug, [x]]}",
      "error invalid_id 8:50 service.pipelines.logs.exporters.1",
    ],
  ])("report %s", (_, text, problem) => {
    expect(problems(text).map(brief)).toEqual([problem]);
  });

  it("suggest the name that was meant", () => {
    expect(problems("logs: {receivers: [otpl], exporters: [debug]}")[0]).toMatchObject({
      message: 'receiver or connector "otpl" is not defined under receivers or connectors',
      suggestion: 'did you mean "otlp"?',
    });
  });

  it("say which kind a name is of", () => {
    expect(problems("logs: {receivers: [debug], exporters: [debug]}")[0]?.message).toBe(
      '"debug" is an exporter; expected a receiver or connector',
    );
  });

  it("may have no receivers when the runtime is embedded", () => {
    expect(problems("logs: {receivers: [], exporters: [debug]}", { allowNoReceivers: true })).toEqual([]);
  });

  it("report a connector that cannot turn one signal into the other", () => {
    const text = "logs: {receivers: [otlp], exporters: [forward]}\ntraces: {receivers: [forward], exporters: [debug]}";
    expect(problems(text).map(({ code, message }) => `${code}: ${message}`)).toEqual([
      'unsupported_signal: connector "forward" has no other end for the logs of pipeline "logs"; it connects logs to logs, traces to traces, metrics to metrics',
      'unsupported_signal: connector "forward" has no other end for the traces of pipeline "traces"; it connects logs to logs, traces to traces, metrics to metrics',
    ]);
  });

  it("are ordered so that none comes before one that feeds it, otherwise as written", () => {
    const text = `
      metrics: {receivers: [count], exporters: [debug]}
      logs/b: {receivers: [forward/b], exporters: [debug]}
      logs/a: {receivers: [forward], exporters: [forward/b, count]}
      logs: {receivers: [otlp], exporters: [forward]}
      traces: {receivers: [otlp], exporters: [debug/b]}`;
    expect(loadText(pipelines(text)).config?.pipelines.map(({ id }) => id)).toEqual([
      "logs",
      "logs/a",
      "metrics",
      "logs/b",
      "traces",
    ]);
  });

  it("that go round are reported with the whole cycle", () => {
    const text = `
      logs: {receivers: [otlp, forward/b], exporters: [forward]}
      logs/b: {receivers: [forward], exporters: [forward/b, debug]}`;
    const found = problems(text);
    expect(found.map(({ code }) => code)).toEqual(["connector_cycle"]);
    expect(found[0]?.message).toMatch(
      /pipeline logs(\/b)? -> connector forward(\/b)? -> pipeline logs(\/b)? -> connector forward(\/b)? -> pipeline logs/,
    );
  });

  it("that feed themselves are reported", () => {
    const [found] = problems("logs: {receivers: [otlp, forward], exporters: [forward]}");
    expect(found?.message).toBe("data would circulate forever: pipeline logs -> connector forward -> pipeline logs");
  });
});

describe("service.extensions", () => {
  const text = pipelines("logs: {receivers: [otlp], exporters: [debug]}");

  it("switches extensions on, in its order", () => {
    const { config } = loadText(`${text}  extensions: [health_check]`);
    expect([...config!.extensions.keys()]).toEqual(["health_check"]);
    expect([...loadText(text).config!.extensions.keys()]).toEqual([]);
  });

  it("reports a name that is not defined", () => {
    const { problems: found } = loadText(`${text}  extensions: [helth_check]`);
    expect(found).toMatchObject([{ code: "undefined_reference", suggestion: 'did you mean "health_check"?' }]);
  });
});
