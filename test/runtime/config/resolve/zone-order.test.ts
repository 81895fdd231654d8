import { EMPTY } from "rxjs";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { Registry } from "../../../../src/runtime/config/resolve/registry.js";
import { ZONES, type Zone } from "../../../../src/runtime/contract/component.js";
import { defineConnector, defineProcessor } from "../../../../src/runtime/contract/define.js";
import { SIGNALS } from "../../../../src/runtime/otlp/signals/signal.js";
import { fakes } from "../fakes.js";
import { brief, loadText, withoutUnused } from "../load-text.js";

const schema = z.strictObject({});
const processor = (type: string, zone?: Zone) =>
  defineProcessor({
    type,
    summary: "test",
    signals: SIGNALS,
    schema,
    create: () => () => EMPTY,
    ...(zone && { zone }),
  });
const connector = (type: string, zone?: Zone) =>
  defineConnector({
    type,
    summary: "test",
    routes: SIGNALS.flatMap((from) => SIGNALS.map((to) => ({ from, to }))),
    schema,
    create: () => () => EMPTY,
    ...(zone && { zone }),
  });

const registry = new Registry([
  ...fakes,
  ...ZONES.map((zone) => processor(zone, zone)),
  processor("homeless"),
  connector("way"),
  connector("router", "routing"),
]);

/** Pipelines as `[receivers], [processors], [exporters]`, one a line, the first in line 11. */
function problems(pipelines: Readonly<Record<string, string>>, service = "") {
  const lists = Object.entries(pipelines).map(([id, text]) => {
    const [receivers, processors, exporters] = text.split("|").map((list) => list.trim());
    return `    ${id}: {receivers: [${receivers}], processors: [${processors}], exporters: [${exporters}]}`;
  });
  const text = `receivers: {otlp: {protocols: {grpc: }}}
processors: {${[...ZONES, "homeless"].map((zone) => `${zone}: `).join(", ")}}
exporters: {debug: }
connectors: {way: , way/2: , router: }




service:${service}
  pipelines:
${lists.join("\n")}
`;
  return withoutUnused(loadText(text, { registry }).problems);
}

describe("the order of processors", () => {
  it("is right when no zone comes after a later one, with anything in between", () => {
    expect(
      problems({ logs: "otlp | validate, pii, homeless, rate_limit, sampling, versioning, routing | debug" }),
    ).toEqual([]);
    expect(problems({ logs: "otlp | pii, sampling | debug" })).toEqual([]);
  });

  it("is a warning where it is wrong, with its place, the reason and what to do", () => {
    const [problem, ...others] = problems({ logs: "otlp | sampling, homeless, rate_limit | debug" });
    expect(others).toEqual([]);
    expect(brief(problem!)).toBe("warning zone_order 11:64 service.pipelines.logs.processors.2");
    expect(problem!.message).toBe(
      '"rate_limit" comes after "sampling": records over the limit are first sampled, updated or routed',
    );
    expect(problem!.suggestion).toBe(
      'put "rate_limit" before "sampling"; the order is validate, pii, rate_limit, sampling, versioning, routing',
    );
  });

  it("is an error where the service is strict about it", () => {
    const found = problems({ logs: "otlp | rate_limit, pii | debug" }, "\n  strict_order: true");
    expect(found.map(({ severity, code }) => `${severity} ${code}`)).toEqual(["error zone_order"]);
  });

  it("says each processor that is too late, against the latest zone before it", () => {
    const found = problems({ logs: "otlp | versioning, sampling, pii, validate | debug" });
    expect(found.map(({ message }) => message.split(":")[0])).toEqual([
      '"sampling" comes after "versioning"',
      '"pii" comes after "versioning"',
      '"validate" comes after "versioning"',
    ]);
  });

  it("continues through any number of connectors and on every path", () => {
    const found = problems({
      "logs/c": "way/2 | rate_limit | debug",
      "logs/b": "way | homeless | way/2",
      "logs/a": "otlp | sampling | way",
      "logs/d": "otlp | pii | way/2",
    });
    expect(found.map(brief)).toEqual(["warning zone_order 11:47 service.pipelines.logs/c.processors.0"]);
    expect(found[0]!.message).toMatch(
      /^"rate_limit" comes after "sampling" in pipeline "logs\/a", which feeds this one:/,
    );
    expect(found[0]!.suggestion).toMatch(/^put "rate_limit" into pipeline "logs\/a", before "sampling";/);
  });

  it("counts a connector that has a zone", () => {
    const found = problems({ "logs/in": "otlp | | router", "logs/out": "router | pii | debug" });
    expect(found[0]!.message).toMatch(/^"pii" comes after "router" in pipeline "logs\/in"/);
  });

  it("starts again where a connector changes the signal", () => {
    expect(problems({ logs: "otlp | sampling | way", metrics: "way | rate_limit | debug" })).toEqual([]);
  });

  it("does not go round in a circle of connectors", () => {
    const found = problems({ "logs/a": "otlp, way/2 | sampling | way", "logs/b": "way | pii | way/2" });
    expect(found.some(({ code }) => code === "connector_cycle")).toBe(true);
  });
});
