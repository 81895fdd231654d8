import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { encodeSampled, SAMPLE_MAGIC } from "../../../../src/agent/rehearsal/sample-file.js";
import type { RehearsalReport } from "../../../../src/runtime/contract/rehearsal/rehearsal-report.js";
import { startSink } from "../../../support/otlp-sink.js";
import { logs } from "../../../support/telemetry/batches.js";
import { temporaryFolder } from "../../../support/temporary-folder.js";
import { startRehearsedAgent } from "../../rehearsal/process/rehearsed-agent.js";
import { sluice } from "../dlq/support.js";

interface Files {
  readonly folder: string;
  readonly before: string;
  readonly after: string;
  readonly sample: string;
}

/** Configs that differ in a filter, with queues on disk and an exporter that sends to this URL. */
function writeFiles(url = "http://127.0.0.1:9", bodies: readonly string[] = ["a", "drop", "ann@example.com"]): Files {
  const folder = temporaryFolder();
  const file = (name: string) => join(folder, name);
  const config = (processors: string) => `
receivers: {otlp: {protocols: {http: {endpoint: 127.0.0.1:0}}}}
processors: {filter: {error_mode: ignore, logs: {log_record: ['body == "drop"']}}}
exporters: {otlp_http: {endpoint: "${url}", compression: none}}
extensions: {reliability: {directory: ${file("queue")}}, admin: {endpoint: 127.0.0.1:0}, health_check: {endpoint: 127.0.0.1:0}}
service:
  extensions: [reliability, admin, health_check]
  telemetry: {metrics: {level: none}}
  pipelines: {logs: {receivers: [otlp], processors: [${processors}], exporters: [otlp_http]}}
`;
  writeFileSync(file("before.yaml"), config(""));
  writeFileSync(file("after.yaml"), config("filter"));
  const entries = bodies.map((body, i) => ({
    receiver: "otlp",
    signal: "logs" as const,
    at: 1_790_000_000_000 + i,
    bytes: logs(body).bytes,
  }));
  writeFileSync(file("traffic.sample"), Buffer.concat([SAMPLE_MAGIC, ...entries.flatMap(encodeSampled)]));
  return { folder, before: file("before.yaml"), after: file("after.yaml"), sample: file("traffic.sample") };
}

describe("sluice rehearse", () => {
  it("shows the difference, masked and without sending, storing or listening", async () => {
    const sink = await startSink();
    onTestFinished(() => sink.close());
    const { folder, before, after, sample } = writeFiles(sink.url);
    const { code, out, err } = await sluice(["rehearse", after, "--against", before, "--sample", sample]);
    expect([code, err]).toEqual([0, ""]);
    expect(out).toMatch(/^Sample: 3 records in 3 batches, /);
    expect(out).toMatch(/^otlp_http +logs +3 +2 +1 +0 +0 /m);
    expect(out).toMatch(/^ {2}dropped at otlp_http: .*body=drop/m);
    expect(out).toMatch(/^1 dropped\./m);
    expect(sink.batches).toEqual([]);
    expect(readdirSync(folder).toSorted()).toEqual(["after.yaml", "before.yaml", "traffic.sample"]);
    const back = await sluice(["rehearse", before, "--against", after, "--sample", sample]);
    expect(back.out).toMatch(/^1 new\./m);
    const same = await sluice(["rehearse", after, "--against", after, "--sample", sample]);
    expect(same.out).toMatch(/^No difference\./m);
    expect(out + back.out + same.out).not.toContain("ann@");
  });

  it("exits with 3 if a condition holds, and names it", async () => {
    const { before, after, sample } = writeFiles();
    const args = ["rehearse", after, "--against", before, "--sample", sample];
    const codes = async (...conditions: string[]) =>
      (await sluice([...args, ...conditions.flatMap((each) => ["--fail-on", each])])).code;
    expect(await codes("drop>33%")).toBe(3);
    expect(await codes("drop>34%", "errors>0", "bytes>10%", "new>0", "changed>0")).toBe(0);
    expect(await codes("errors>0", "drop >= 1")).toBe(3);
    expect(await sluice([...args, "--fail-on", "drop>1%", "--json"])).toMatchObject({
      code: 3,
      err: "sluice: the rehearsal failed: drop>1%\n",
      out: expect.stringContaining('"failed": [\n    "drop>1%"\n  ]'),
    });
  });

  it("shows what a config does by itself if there is nothing to compare with", async () => {
    const { after, sample } = writeFiles();
    const { code, out } = await sluice(["rehearse", after, "--sample", sample, "--json"]);
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ isComparison: false, total: { after: { records: 2 }, dropped: 0 } });
  });

  it("uses the whole batches of a sample that was cut off, and says so", async () => {
    const { before, after, sample } = writeFiles();
    writeFileSync(sample, Buffer.concat([SAMPLE_MAGIC, ...encodeSampled(oneEntry()), Buffer.from("cut")]));
    const { code, out, err } = await sluice(["rehearse", after, "--against", before, "--sample", sample]);
    expect([code, out]).toEqual([0, expect.stringMatching(/^Sample: 1 record in 1 batch, /)]);
    expect(err).toMatch(/the file was cut off at byte \d+; 1 batch before it will be used/);
  });

  it("says what is wrong", async () => {
    const { folder, before, after, sample } = writeFiles();
    writeFileSync(join(folder, "bad.yaml"), "receivers: {nosuch: }\n");
    writeFileSync(join(folder, "empty.sample"), SAMPLE_MAGIC);
    const wrong: [string[], number, string][] = [
      [[], 2, "no config was given"],
      [[after], 2, "no sample was given"],
      [[after, "--sample", sample, "--for", "5s"], 2, "from a file or from an agent"],
      [[after, "--sample", sample, "--fail-on", "drop>1%"], 2, "needs two configs to compare"],
      [[after, "--sample", sample, "--fail-on", "nosuch>1%"], 2, "is not a condition"],
      [[join(folder, "bad.yaml"), "--sample", sample], 1, "nosuch"],
      [[after, "--against", join(folder, "bad.yaml"), "--sample", sample], 1, "nosuch"],
      [[after, "--sample", before], 1, "this is not a sample"],
      [[after, "--sample", join(folder, "empty.sample")], 1, "the sample is empty"],
      [[after, "--sample", join(folder, "nosuch.sample")], 1, "ENOENT"],
    ];
    for (const [args, code, message] of wrong) {
      const result = await sluice(["rehearse", ...args]);
      expect([args, result.code, result.err]).toEqual([args, code, expect.stringContaining(message)]);
    }
  });

  it("creates no exporter, receiver or extension of a plugin", async () => {
    const { folder, before, after, sample } = writeFiles();
    const plugin = join(folder, "touches.mjs");
    const door = new URL("../../../../dist/bundle/plugin.js", import.meta.url).href;
    const touch = (name: string) => `writeFileSync(${JSON.stringify(join(folder, "touched-"))} + "${name}", "x")`;
    writeFileSync(
      plugin,
      `import { writeFileSync } from "node:fs";
import { defineExporter, defineExtension, defineReceiver } from ${JSON.stringify(door)};
const part = { start() { ${touch("started")}; }, stop() {}, async send() { ${touch("sent")}; } };
export const exporter = defineExporter({ type: "touch", create() { ${touch("exporter")}; return part; } });
export const receiver = defineReceiver({ type: "touch", create() { ${touch("receiver")}; return part; } });
export const extension = defineExtension({ type: "touch", create() { ${touch("extension")}; return part; } });
`,
    );
    const text = readFileSync(after, "utf8")
      .replace("receivers: {", `plugins: [${plugin}]\nreceivers: {touch: {}, `)
      .replace("exporters: {", "exporters: {touch: {}, ")
      .replace("extensions: {", "extensions: {touch: {}, ")
      .replace("extensions: [", "extensions: [touch, ")
      .replace("receivers: [", "receivers: [touch, ")
      .replace("exporters: [", "exporters: [touch, ");
    writeFileSync(after, text);
    const { code, out, err } = await sluice(["rehearse", after, "--against", before, "--sample", sample]);
    expect([code, err]).toEqual([0, ""]);
    expect(out).toMatch(/^touch +logs +0 +2 /m);
    expect(readdirSync(folder).filter((name) => name.startsWith("touched"))).toEqual([]);
  });

  it("rehearses what a running agent recorded, and what it gets now", async () => {
    const { folder, file: before, url, write } = await startRehearsedAgent();
    const after = join(folder, "after.yaml");
    write({ processors: `filter: {logs: {log_record: ['body == "drop"']}}`, use: "filter" }, after);
    const file = join(folder, "recorded.sample");
    const live = ["--for", "1s", "--why", "a test"];
    expect((await sluice(["tap", "--record", file, ...live, "--api", url])).code).toBe(0);
    const compared = ["rehearse", after, "--against", before, "--fail-on", "drop>1%", "--json"];
    const recorded = await sluice([...compared, "--sample", file]);
    const now = await sluice([...compared, "--agent", url, ...live]);
    for (const { code, out } of [recorded, now]) {
      const { total, sample } = JSON.parse(out) as RehearsalReport;
      expect([code, total.before.records]).toEqual([3, sample.records]);
      expect([total.dropped + total.unchanged, total.dropped > 0]).toEqual([sample.records, true]);
    }
    expect(await sluice([...compared, "--agent", url])).toMatchObject({
      code: 2,
      err: expect.stringContaining("needs a reason"),
    });
  });
});

function oneEntry() {
  return { receiver: "otlp", signal: "logs" as const, at: 1, bytes: logs("a").bytes };
}
