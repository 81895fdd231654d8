import { describe, expect, it } from "vitest";
import { brief, GOOD, loadText } from "../load-text.js";

const load = (telemetry: string) => loadText(`${GOOD}  telemetry:\n    ${telemetry}\n`);

describe("service.telemetry", () => {
  it.each([
    ["logs: {level: WARNING, encoding: JSON}", { logs: { level: "warn", encoding: "json" } }],
    ["logs: {level: panic, initial_fields: {team: a}}", { logs: { level: "fatal", initial_fields: { team: "a" } } }],
    ["metrics: {level: None}", { metrics: { level: "none" } }],
    [
      "resource: {service.name: x, service.instance.id: }",
      { resource: { "service.name": "x", "service.instance.id": null } },
    ],
    [
      "metrics: {readers: [{periodic: {interval: 10000, exporter: {otlp: {protocol: http/protobuf, endpoint: 'http://h:4318', headers: [{name: a, value: b}]}}}}]}",
      { metrics: { readers: [{ periodic: { interval: 10_000 } }] } },
    ],
    [
      "logs: {processors: [{batch: {exporter: {otlp: {protocol: http/protobuf, endpoint: 'http://h:4318'}}}}]}",
      { logs: { processors: [{ batch: { exporter: { otlp: { endpoint: "http://h:4318" } } } }] } },
    ],
  ])("takes %s", (text, telemetry) => {
    const { config, problems } = load(text);
    expect(problems).toEqual([]);
    expect(config?.service.telemetry).toMatchObject(telemetry);
  });

  it.each([
    ["metrics: {address: 127.0.0.1:8888}", "warning deprecated_key 18:15 service.telemetry.metrics.address"],
    ["logs: {output_paths: [stdout]}", "warning ignored_key 18:12 service.telemetry.logs.output_paths"],
    ["traces: {processors: []}", "warning ignored_key 18:5 service.telemetry.traces"],
    ["logs: {level: loud}", "error wrong_value 18:19 service.telemetry.logs.level"],
    ["metrics: {readers: [{push: {}}]}", "error unknown_key 18:26 service.telemetry.metrics.readers.0.push"],
  ])("has something to say about %s", (text, problem) => {
    expect(load(text).problems.map(brief)).toEqual([problem]);
  });
});
