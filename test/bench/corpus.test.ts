import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";

const folder = mkdtempSync(join(tmpdir(), "sluice-corpus-"));
afterAll(() => rmSync(folder, { recursive: true }));

const good = `receivers: {otlp: {protocols: {grpc: {endpoint: "\${env:SOMEWHERE}:4317"}}}}
exporters: {nop: }
service: {pipelines: {logs: {receivers: [otlp], exporters: [nop]}}}
`;

it("tells configs that load from those that miss components and those with other problems", () => {
  writeFileSync(join(folder, "good.yaml"), good);
  writeFileSync(join(folder, "missing.yaml"), good.replaceAll("nop", "carrier_pigeon"));
  writeFileSync(join(folder, "wrong.yaml"), good.replace("service:", "servcie:"));
  const { stdout, status } = spawnSync(process.execPath, ["bench/corpus.js", folder, "--json"], { encoding: "utf8" });
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
