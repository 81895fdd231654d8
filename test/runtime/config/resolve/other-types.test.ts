import { describe, expect, it } from "vitest";
import { builtins } from "../../../../src/agent/builtins/builtins.js";
import { adviceOnType, noEffectReason, noEffectTypes } from "../../../../src/runtime/config/resolve/other-types.js";
import { Registry } from "../../../../src/runtime/config/resolve/registry.js";

describe("types that Sluice has not", () => {
  it("says of types that do nothing any more what takes their place", () => {
    expect(noEffectReason("extension", "memory_ballast")).toMatch(/ballast/);
    expect(noEffectReason("extension", "zpages")).toMatch(/admin/);
    expect(noEffectReason("processor", "queued_retry")).toMatch(/retry_on_failure/);
    expect(noEffectReason("receiver", "opencensus")).toMatch(/otlp/);
    expect(noEffectReason("processor", "batch")).toBeUndefined();
  });

  it("advises by type, in either spelling", () => {
    expect(adviceOnType("exporter", "logzio")).toMatch(/otlp_http/);
    expect(adviceOnType("processor", "service_graph")).toMatch(/connector/);
    expect(adviceOnType("exporter", "azure_blob")).toBe(adviceOnType("exporter", "azureblob"));
    expect(adviceOnType("receiver", "snmp")).toMatch(/keep a Collector/);
    expect(adviceOnType("exporter", "debgu")).toBeUndefined();
  });

  it("leaves no type that does nothing to a component that exists", async () => {
    const registry = new Registry(await builtins());
    for (const kind of ["receiver", "processor", "exporter", "connector", "extension"] as const) {
      for (const type of noEffectTypes(kind)) expect(registry.get(kind, type)).toBeUndefined();
    }
  });
});
