import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";

function corpus(files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), "sluice-corpus-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return folder;
}

function run(...args: string[]) {
  return spawnSync(process.execPath, ["bench/corpus.js", "--json", ...args], { encoding: "utf8" });
}

const good = `receivers: {otlp: {protocols: {grpc: {endpoint: "\${env:SOMEWHERE}:4317"}}}}
exporters: {nop: }
service: {pipelines: {logs: {receivers: [otlp], exporters: [nop]}}}
`;

it("tells configs that load from those that miss components and those with other problems", () => {
  const folder = corpus({
    "good.yaml": good,
    "missing.yaml": good.replaceAll("nop", "carrier_pigeon"),
    "wrong.yaml": good.replace("service:", "servcie:"),
  });
  const { stdout, status } = run(folder);
  expect(status).toBe(1);
  expect(JSON.parse(stdout)).toMatchObject({
    files: 3,
    load: 1,
    missingComponentsOnly: 1,
    withProblems: 1,
    missingComponents: [{ what: "exporter carrier_pigeon", count: 1 }],
    problems: [{ count: 1, places: ["wrong.yaml:3:1"] }],
  });
});

it("counts a config that names what it does not define as one that the Collector refuses too", () => {
  const folder = corpus({ "part.yaml": good.replace("{nop: }", "{debug: }") });
  expect(JSON.parse(run(folder).stdout)).toMatchObject({
    ordinary: { files: 1, load: 0, refusedByCollector: 1 },
    refusedByCollector: [{ name: "part.yaml", refusal: expect.stringContaining('"nop" is not defined') }],
  });
});

it("counts configs that name a component of a vendor apart from ordinary ones, in the folder that CORPUS names", () => {
  const CORPUS = corpus({
    "good.yaml": good,
    "missing.yaml": good.replaceAll("nop", "carrier_pigeon"),
    "vendor.yaml": good
      .replaceAll("{nop: }", "\n  nop:\n  datadog_pigeon/eu: {}\n")
      .replace("[nop]", "[datadog_pigeon/eu]"),
  });
  const env = { ...process.env, CORPUS };
  const { stdout } = spawnSync(process.execPath, ["bench/corpus.js", "--json"], { encoding: "utf8", env });
  expect(JSON.parse(stdout)).toMatchObject({
    ordinary: { files: 2, load: 1, missingComponents: [{ what: "exporter carrier_pigeon", count: 1 }] },
    vendors: { files: 1, load: 0, missingComponents: [{ what: "exporter datadog_pigeon", count: 1 }] },
  });
});

it("starts what loads when told to, and says why the rest does not start", () => {
  const quiet = "service: {telemetry: {logs: {level: error}, metrics: {level: none}},";
  const anyPort = good.replace(/endpoint: "[^"]*"/, 'endpoint: "127.0.0.1:0"').replace("service: {", quiet);
  const folder = corpus({
    "starts.yaml": anyPort,
    "elsewhere.yaml": good.replace("${env:SOMEWHERE}", "192.0.2.1"),
    "missing.yaml": good.replaceAll("nop", "x"),
  });
  expect(JSON.parse(run("--start", folder).stdout)).toMatchObject({
    files: 3,
    load: 2,
    start: 1,
    notStarted: [{ name: "elsewhere.yaml", reason: expect.stringContaining("error: cannot listen on 192.0.2.1:4317") }],
  });
});
