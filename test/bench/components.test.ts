import { describe, expect, it } from "vitest";
import { runBench } from "./run-bench.js";

const scenario = new URL("../../bench/scenarios/components.js", import.meta.url).href;
const { countProblems } = (await import(scenario)) as {
  countProblems: (row: { name: string; in: number; out: number }) => string[];
};

describe("npm run bench, components", () => {
  it("measures a receiver, a processor, a connector and an exporter beside something bare", async () => {
    process.env["BENCH_CELLS"] = "tcp_log|groupbyattrs|service_graph|file, JSON";
    const { code, stdout } = await runBench("--scenario=components", "--quick", "--json");
    delete process.env["BENCH_CELLS"];
    expect(code).toBe(0);
    const { results } = JSON.parse(stdout) as { results: Record<string, unknown>[] };
    expect(results).toHaveLength(4);
    for (const row of results)
      for (const key of ["usPerRecord", "baseUs", "ratio", "in", "out"]) expect(row[key], key).toBeGreaterThan(0);
  });

  it.each([
    ["nop", 0, 0],
    ["nop", 10, 9],
    ["tcp_log", 10, 11],
    ["service_graph, two services", 10, 0],
  ])("fails when of %s %i records went in and %i came out", (name, given, out) => {
    expect(countProblems({ name, in: given, out })).toHaveLength(1);
  });

  it("is content when all came out, or something where it is made into something else", () => {
    expect(countProblems({ name: "nop", in: 10, out: 10 })).toEqual([]);
    expect(countProblems({ name: "service_graph, two services", in: 10, out: 2 })).toEqual([]);
  });
});
