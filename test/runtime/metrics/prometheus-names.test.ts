import { describe, expect, it } from "vitest";
import { labelName, metricName, nameRules, unitName } from "../../../src/runtime/metrics/prometheus-names.js";

const suffixed = nameRules("", true, undefined);

describe("names of Prometheus", () => {
  it.each([
    ["system.filesystem.usage", "By", "other", "system_filesystem_usage_bytes"],
    ["system.network.dropped", "{packets}", "other", "system_network_dropped"],
    ["system.network.dropped", "packets", "other", "system_network_dropped_packets"],
    ["system.memory.utilization", "1", "gauge", "system_memory_utilization_ratio"],
    ["http.requests", "1", "counter", "http_requests_total"],
    ["requests.total.count", "", "counter", "requests_count_total"],
    ["astro.light.speed", "m/s", "gauge", "astro_light_speed_meters_per_second"],
    ["(lambda).function.executions(#)", "", "other", "lambda_function_executions"],
    ["http.server.duration", "ms", "other", "http_server_duration_milliseconds"],
    ["duration_seconds", "s", "other", "duration_seconds"],
    ["2xx", "", "gauge", "_2xx"],
    ["温度", "", "gauge", ""],
  ] as const)("makes %s (%s, %s) %s", (name, unit, kind, expected) => {
    expect(metricName(name, unit, kind, suffixed)).toBe(expected);
  });

  it("keeps suffixes, underscores and characters if configured", () => {
    expect(metricName("a__b.c", "s", "counter", nameRules("ns", false, undefined))).toBe("ns_a__b_c");
    expect(metricName("a.b", "s", "counter", nameRules("", true, "NoTranslation"))).toBe("a.b");
    expect(metricName("a.b", "By/s", "counter", nameRules("", false, "NoUTF8EscapingWithSuffixes"))).toBe(
      "a.b_bytes_per_second_total",
    );
    expect(metricName("a.b", "s", "gauge", nameRules("", true, "UnderscoreEscapingWithoutSuffixes"))).toBe("a_b");
  });

  it.each([
    ["http.method", "http_method"],
    ["1st", "key_1st"],
    ["a__b", "a__b"],
    ["..", ""],
  ])("makes the label %s %s", (name, expected) => {
    expect(labelName(name, suffixed)).toBe(expected);
  });

  it("says units in words", () => {
    expect(["By/s", "1", "{x}", "KiBy"].map(unitName)).toEqual(["bytes_per_second", "", "", "kibibytes"]);
  });
});
