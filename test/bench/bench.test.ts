import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { quickReport, type Report, runBench, SHORTEST } from "./run-bench.js";

const options = new URL("../../bench/lib/options.js", import.meta.url).href;
const { parseOptions, UsageError } = (await import(options)) as {
  parseOptions: (argv: readonly string[]) => object;
  UsageError: new () => Error;
};

const cheat = (how: string) => `${how}=${process.execPath} test/bench/cheat.mjs {listen} {sink} ${how}`;

describe("npm run bench, passthrough", () => {
  it("reports cost, ratio, latency and memory of every subject in every encoding", async () => {
    const again = `again=${process.execPath} bench/roles/bare.js {listen} {sink} {grpc}`;
    const args = ["--subjects=bare", "--peer", again, "--signal=traces", "--encoding=json,grpc"];
    const { code, report, stderr } = await quickReport(...args);
    expect(stderr).toBe("");
    expect(code).toBe(0);
    expect(report).toMatchObject({ ok: true, failures: [], machine: { node: process.version } });
    expect(report.results.map(({ subject, encoding }) => `${subject} ${encoding}`)).toEqual(
      ["json", "grpc"].flatMap((encoding) => [`bare ${encoding}`, `again ${encoding}`]),
    );
    for (const row of report.results) {
      const ratio = { median: expect.any(Number), min: expect.any(Number), max: expect.any(Number) };
      expect(row).toMatchObject({ scenario: "passthrough", signal: "traces", records: 100, cpuRatio: ratio, lost: 0 });
      for (const key of ["recordsPerSecond", "cpuUsPerRecord", "p50Ms", "p99Ms", "peakRssBytes", "acknowledged"])
        expect(row[key], key).toBeGreaterThan(0);
      expect(row["delivered"]).toBe(row["acknowledged"]);
      expect(row["rounds"]).toHaveLength(2);
    }
  });

  it("fails when a subject loses records it acknowledged, or delivers them twice", async () => {
    const args = ["--rounds=1", "--settle=2", "--peer", cheat("lose"), "--peer", cheat("repeat")];
    const { code, report, stderr } = await quickReport("--subjects=bare", ...args);
    expect(code).toBe(1);
    expect(report.ok).toBe(false);
    const failures = report.failures.join("\n");
    expect(failures).toMatch(/^lose, proto.*acknowledged records were lost$/m);
    expect(failures).not.toMatch(/^lose, proto.*arrived more often than sent$/m);
    expect(failures).toMatch(/^repeat, proto.*arrived more often than sent$/m);
    expect(failures).not.toMatch(/^bare/m);
    expect(stderr).toMatch(/FAILED {2}lose/);
  });

  it("says what a subject said that does not start", async () => {
    const { code, stderr } = await runBench(...SHORTEST, "--subjects=", "--peer", "broken=echo no such luck {listen}");
    expect(code).toBe(1);
    expect(stderr).toMatch(/broken did not open port \d+:\nno such luck/);
  });
});

describe("npm run bench, overload", () => {
  let code: number;
  let report: Report;
  beforeAll(async () => {
    const args = ["--scenario=overload", "--sink-rate=20000", "--seconds=0.5", "--concurrency=40", "--subjects=bare"];
    ({ code, report } = await quickReport(...args, "--peer", cheat("refuse")));
  });
  const rowOf = (subject: string) => report.results.find((row) => row["subject"] === subject)!;

  it("offers more than the sink takes and follows the subject's memory", () => {
    const row = rowOf("bare");
    expect(row).toMatchObject({ scenario: "overload", lost: 0, offered: 60_000, sinkRate: 20_000 });
    expect(row["memory"]).toContainEqual(expect.objectContaining({ rssBytes: expect.any(Number) }));
    expect(Number(row["withheld"])).toBeGreaterThan(0);
  });

  it("tells refusals with and without Retry-After apart, and takes them for no loss", () => {
    expect(report.failures).toEqual([]);
    expect(code).toBe(0);
    const row = rowOf("refuse");
    expect(row).toMatchObject({ lost: 0, extra: 0, failed: 0 });
    expect(Number(row["refusedWithRetryAfter"])).toBeGreaterThan(0);
    expect(Number(row["refusedWithoutRetryAfter"])).toBeGreaterThan(0);
  });
});

describe("npm run bench, with several scenarios by their bare names", () => {
  let folder: string;
  let bench: { readonly code: number; readonly stdout: string };
  let report: Report;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "bench-test-"));
    const file = join(folder, "result.json");
    const scenarios = ["passthrough", "emit", "durable", "process", "outage", "pii-quality"];
    const load = ["--signal=metrics", "--encoding=gzip", "--rounds=1"];
    bench = await runBench(...SHORTEST, "--subjects=bare", ...load, "--json", file, ...scenarios);
    report = JSON.parse(await readFile(file, "utf8")) as Report;
    return () => rm(folder, { recursive: true, force: true });
  });
  const rowsOf = (scenario: string) => report.results.filter((row) => row["scenario"] === scenario);

  it("prints tables and writes the JSON into a file", () => {
    expect(bench.code).toBe(0);
    expect(bench.stdout).toMatch(/^subject +encoding +rec\/req +records\/s +CPU us\/rec/m);
    expect(report).toMatchObject({ ok: true, failures: [] });
  });

  it("carries metrics, packed", () => {
    expect(rowsOf("passthrough")).toMatchObject([{ signal: "metrics", encoding: "gzip", lost: 0 }]);
  });

  it("reports how long a call of emit takes, as a ratio to a plain one", () => {
    expect(rowsOf("emit")).toHaveLength(3);
    for (const row of rowsOf("emit")) {
      expect(row["calls"]).toBe(row["accepted"]);
      for (const key of ["p50", "p99", "ratio"]) expect(row[key], key).toBeGreaterThan(0);
    }
  });

  it.each(["durable", "process"])("measures the %s baseline at full and at half load", (scenario) => {
    const [row, ...others] = rowsOf(scenario);
    expect(others).toEqual([]);
    expect(row).toMatchObject({ subject: "bare", lost: 0, halfLoad: { p99Ms: expect.any(Number) } });
    expect(row!["delivered"]).toBe(row!["acknowledged"]);
  });

  it("takes the sink away and brings it back", () => {
    const timed = { lost: 0, firstMs: expect.any(Number), emptyMs: expect.any(Number) };
    expect(rowsOf("outage")).toEqual([expect.objectContaining(timed)]);
  });

  it("judges the detectors of pii", () => {
    expect(report.results).toContainEqual(expect.objectContaining({ detector: "email", recall: 1 }));
  });
});

describe("npm run bench", () => {
  it("answers a wrong command line with what is wrong and exit code 2", async () => {
    const { code, stderr } = await runBench("--scenario=nonsense");
    expect(code).toBe(2);
    expect(stderr).toMatch(/no scenario "nonsense"; there are shapes/);
  });

  it.each([
    [["--encoding=xml"], /--encoding: "xml" is none of proto, json, gzip, grpc/],
    [["--rounds=none"], /--rounds: "none" is not a number above 0/],
    [["--peer=alone"], /--peer takes name=command/],
    [["--peer=a=x", "--peer=b=y"], /only one peer can listen on 4318/],
  ])("says what is wrong with %j", (args, message) => {
    expect(() => parseOptions(args)).toThrow(UsageError);
    expect(() => parseOptions(args)).toThrow(message);
  });
});

describe("npm run bench, shapes", () => {
  it("sets every form of every subject beside the bare forwarder of that form, and beside itself without batch", async () => {
    const merge = "$(test $BENCH_BATCH = with && echo --merging)";
    const again = `again=${process.execPath} bench/roles/bare.js {listen} {sink} ${merge} --client=sockets`;
    const args = ["--rounds=1", "--subjects=bare", "--peer", again, "--clients=2", "--records=3", "--queue=off"];
    const { code, report } = await quickReport("--scenario=shapes", ...args);
    expect(code).toBe(0);
    expect(report.results.map(({ subject }) => subject)).toEqual(["bare", "again", "bare+batch", "again+batch"]);
    const ratio = expect.objectContaining({ median: expect.any(Number) });
    for (const row of report.results) {
      const compared = String(row["subject"]).endsWith("+batch") ? ratio : null;
      expect(row).toMatchObject({ clients: 2, records: 3, queue: "off", lost: 0, throughputRatio: ratio });
      expect(row).toMatchObject({ batchThroughputRatio: compared, batchP50Ratio: compared });
    }
  });

  it("measures the agent durable with a batch processor alone, one answer after the other", async () => {
    const args = ["--rounds=1", "--clients=1", "--queue=durable", "--batching=with"];
    const { code, report } = await quickReport("--scenario=shapes,answer", ...args);
    expect(code).toBe(0);
    expect(report.results).toMatchObject([
      { scenario: "shapes", subject: "bare+batch", queue: "durable", lost: 0 },
      { scenario: "shapes", subject: "sluice+batch", queue: "durable", lost: 0, batchP50Ratio: null },
      { scenario: "answer", subject: "bare" },
      { scenario: "answer", subject: "sluice", putRatio: { median: expect.any(Number) } },
    ]);
  });
});
