import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { builtins } from "../../../../src/agent/builtins/builtins.js";
import { adviceOnType, noEffectReason, noEffectTypes } from "../../../../src/runtime/config/resolve/other-types.js";
import { OTLP_VENDORS, otlpInstead } from "../../../../src/runtime/config/resolve/otlp-vendors.js";
import { Registry } from "../../../../src/runtime/config/resolve/registry.js";

const registry = new Registry(await builtins());

describe("types that Sluice has not", () => {
  it("says of types that do nothing any more what takes their place", () => {
    expect(noEffectReason("extension", "memory_ballast")).toMatch(/ballast/);
    expect(noEffectReason("extension", "pprof")).toMatch(/cpu-prof/);
    expect(noEffectReason("processor", "queued_retry")).toMatch(/retry_on_failure/);
    expect(noEffectReason("receiver", "opencensus")).toMatch(/otlp/);
    expect(noEffectReason("processor", "batch")).toBeUndefined();
  });

  it("advises by type, in either spelling", () => {
    expect(adviceOnType("exporter", "newrelic")).toMatch(/otlp_http/);
    expect(adviceOnType("processor", "service_graph")).toMatch(/connector/);
    expect(adviceOnType("exporter", "azure_data_explorer")).toBe(adviceOnType("exporter", "azuredataexplorer"));
    expect(adviceOnType("receiver", "snmp")).toMatch(/keep a Collector/);
    expect(adviceOnType("exporter", "debgu")).toBeUndefined();
    expect(adviceOnType("exporter", "stackdriver")).toBe("it is called googlecloud");
  });

  it("names what to use in place of extensions that find endpoints", () => {
    expect(adviceOnType("extension", "docker_observer")).toMatch(/host_observer/);
  });

  it("gives a fragment in place of the exporter of a vendor who takes OTLP", () => {
    for (const type of Object.keys(OTLP_VENDORS)) {
      const advice = adviceOnType("exporter", type)!;
      const fragment = /`([^`]*)`/.exec(advice)?.[1] ?? expect.unreachable(`${type}: ${advice}`);
      const otlp = parse(`{${fragment}}`) as Record<string, Record<string, unknown>>;
      const [id, keys] = Object.entries(otlp)[0]!;
      const { schema } = registry.get("exporter", id.split("/")[0]!)!;
      // Only the gaps are to be filled in.
      const gap = id.startsWith("otlp_http") ? '"endpoint":"https://x.example' : '"endpoint":"x.example';
      const text = JSON.stringify(keys).replace(/"endpoint":"<[^>]*>/, gap);
      const filled = JSON.parse(text.replace(/<[^>]*>/g, "x.example")) as unknown;
      expect([type, schema.safeParse(filled).error?.issues]).toEqual([type, undefined]);
    }
  });

  it("gives a receiver that scrapes in place of one for a database", () => {
    const { schema } = registry.get("receiver", "prometheus")!;
    for (const type of ["mongodb"]) {
      const fragment = /`([^`]*)`/.exec(adviceOnType("receiver", type)!)?.[1] ?? expect.unreachable(type);
      const [[id, keys] = expect.unreachable()] = Object.entries(parse(`{${fragment}}`) as Record<string, unknown>);
      expect([id.split("/")[0], schema.safeParse(keys).error?.issues]).toEqual(["prometheus", undefined]);
    }
  });

  it("takes the old keys into the fragment", () => {
    expect(otlpInstead("honeycomb", { api_key: "$KEY", dataset: "shop", timeout: "3s" })).toEqual({
      type: "otlp_http",
      config: {
        endpoint: "https://api.honeycomb.io",
        headers: { "x-honeycomb-team": "$KEY", "x-honeycomb-dataset": "shop" },
        timeout: "3s",
      },
      isComplete: true,
    });
    const { config, isComplete } = otlpInstead("dynatrace", {
      endpoint: "https://ab1.live.dynatrace.com/api/v2/metrics/ingest",
    })!;
    expect(config).toEqual({
      endpoint: "https://ab1.live.dynatrace.com/api/v2/otlp",
      headers: { Authorization: "Api-Token <api_token>" },
    });
    expect(isComplete).toBe(false);
  });

  it("leaves no type that does nothing to a component that exists", () => {
    for (const kind of ["receiver", "processor", "exporter", "connector", "extension"] as const) {
      for (const type of noEffectTypes(kind)) expect(registry.get(kind, type)).toBeUndefined();
    }
  });
});
