import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { quickReport, runBench, SHORTEST } from "./run-bench.js";

const cheat = (how: string) => `${how}=${process.execPath} test/bench/cheat.mjs {listen} {sink} ${how}`;

describe("npm run bench, passthrough", () => {
  it("reports cost, ratio, latency and memory of every subject in every encoding", async () => {
    const again = `again=${process.execPath} bench/roles/bare.js {listen} {sink} {grpc}`;
    const { code, report, stderr } = await quickReport("--subjects=bare", "--peer", again, "--encoding=proto,grpc");
    expect(stderr).toBe("");
    expect(code).toBe(0);
    expect(report).toMatchObject({ ok: true, failures: [], machine: { node: process.version } });
    expect(report.results.map(({ subject, encoding }) => `${subject} ${encoding}`)).toEqual(
      ["proto", "grpc"].flatMap((encoding) => [`bare ${encoding}`, `again ${encoding}`]),
    );
    for (const row of report.results) {
      const ratio = { median: expect.any(Number), min: expect.any(Number), max: expect.any(Number) };
      expect(row).toMatchObject({ scenario: "passthrough", signal: "logs", records: 100, cpuRatio: ratio, lost: 0 });
      for (const key of ["recordsPerSecond", "cpuUsPerRecord", "p50Ms", "p99Ms", "peakRssBytes", "acknowledged"])
        expect(row[key], key).toBeGreaterThan(0);
      expect(row["delivered"]).toBe(row["acknowledged"]);
      expect(row["rounds"]).toHaveLength(2);
    }
  });

  it.each([
    ["traces", "json"],
    ["metrics", "gzip"],
  ])("carries %s as %s", async (signal, encoding) => {
    const args = ["--subjects=bare", "--signal", signal, "--encoding", encoding, "--rounds=1"];
    const { code, report } = await quickReport(...args);
    expect(code).toBe(0);
    expect(report.results[0]).toMatchObject({ signal, encoding, lost: 0 });
  });

  it("fails when a subject loses records it acknowledged, or delivers them twice", async () => {
    const peers = ["--peer", cheat("lose"), "--peer", cheat("repeat")];
    const { code, report, stderr } = await quickReport("--subjects=bare", "--rounds=1", ...peers);
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

describe("npm run bench, emit", () => {
  it("reports how long a call takes, as a ratio to a plain one", async () => {
    const { code, report } = await quickReport("--scenario=emit");
    expect(code).toBe(0);
    expect(report.results).toHaveLength(3);
    for (const row of report.results) {
      expect(row).toMatchObject({ scenario: "emit", calls: row["accepted"] });
      for (const key of ["p50", "p99", "ratio"]) expect(row[key], key).toBeGreaterThan(0);
    }
  });
});

describe("npm run bench", () => {
  it("prints tables and writes the JSON into a file", async () => {
    const folder = await mkdtemp(join(tmpdir(), "bench-test-"));
    try {
      const file = join(folder, "result.json");
      const { code, stdout } = await runBench(...SHORTEST, "--subjects=bare", "--rounds=1", "--json", file);
      expect(code).toBe(0);
      expect(stdout).toMatch(/^subject +encoding +rec\/req +records\/s +CPU us\/rec/m);
      expect(JSON.parse(await readFile(file, "utf8"))).toMatchObject({ ok: true });
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });

  it("measures the durable baseline at full and at half load", async () => {
    const { code, report } = await quickReport("--scenario=durable,process", "--subjects=bare", "--rounds=1");
    expect(report.failures).toEqual([]);
    expect(code).toBe(0);
    expect(report.results.map(({ scenario }) => scenario)).toEqual(["durable", "process"]);
    for (const row of report.results) {
      expect(row).toMatchObject({ subject: "bare", lost: 0, halfLoad: { p99Ms: expect.any(Number) } });
      expect(row["delivered"]).toBe(row["acknowledged"]);
    }
  });

  it("takes the sink away and brings it back", async () => {
    const { code, report } = await quickReport("--scenario=outage", "--subjects=bare");
    expect(report.failures).toEqual([]);
    expect(code).toBe(0);
    expect(report.results[0]).toMatchObject({ lost: 0, firstMs: expect.any(Number), emptyMs: expect.any(Number) });
  });

  it("judges the detectors of pii, and takes scenarios by their bare names", async () => {
    const { code, report } = await quickReport("--rounds=1", "pii-quality");
    expect(report.failures).toEqual([]);
    expect(code).toBe(0);
    expect(report.results).toContainEqual(expect.objectContaining({ detector: "email", recall: 1 }));
  });

  it("offers an overload and follows the subject's memory", async () => {
    const args = ["--scenario=overload", "--subjects=bare", "--sink-rate=20000", "--seconds=0.5", "--concurrency=40"];
    const { code, report } = await quickReport(...args);
    expect(code).toBe(0);
    const [row] = report.results;
    expect(row).toMatchObject({ scenario: "overload", subject: "bare", lost: 0, offered: 60_000, sinkRate: 20_000 });
    expect(row!["memory"]).toContainEqual(expect.objectContaining({ rssBytes: expect.any(Number) }));
    expect(Number(row!["withheld"])).toBeGreaterThan(0);
  });

  it("tells refusals with and without Retry-After apart, and takes them for no loss", async () => {
    const args = ["--scenario=overload", "--subjects=", "--sink-rate=40000", "--seconds=0.5", "--concurrency=40"];
    const { code, report } = await quickReport(...args, "--peer", cheat("refuse"));
    expect(report.failures).toEqual([]);
    expect(code).toBe(0);
    expect(report.results[0]).toMatchObject({ subject: "refuse", lost: 0, extra: 0, failed: 0 });
    expect(Number(report.results[0]!["refusedWithRetryAfter"])).toBeGreaterThan(0);
    expect(Number(report.results[0]!["refusedWithoutRetryAfter"])).toBeGreaterThan(0);
  });

  it.each([
    [["--scenario=nonsense"], /no scenario "nonsense"; there are passthrough/],
    [["--encoding=xml"], /--encoding: "xml" is none of proto, json, gzip, grpc/],
    [["--rounds=none"], /--rounds: "none" is not a number above 0/],
    [["--peer=alone"], /--peer takes name=command/],
    [["--peer=a=x", "--peer=b=y"], /only one peer can listen on 4318/],
  ])("answers %j with what is wrong and exit code 2", async (args, message) => {
    const { code, stderr } = await runBench(...args);
    expect(code).toBe(2);
    expect(stderr).toMatch(message);
  });
});
