import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { largestParts } from "../../src/runtime/otlp/bytes/check/largest-part.js";
import { adminToken, startAgentProcess } from "../support/agent-process.js";
import { type OtlpSink, startSink } from "../support/otlp-sink.js";
import { bodies } from "../support/telemetry/batches.js";
import { temporaryFolder } from "../support/temporary-folder.js";

const LIMIT = 100 * 1024;

interface Parts {
  readonly receiver?: object;
  readonly processors?: object;
  readonly directory?: string;
  readonly pipeline?: object;
}

interface AdminAnswer {
  readonly id: string;
  readonly state: string;
  readonly report: object;
  readonly entries: readonly { readonly failure: { readonly error: object } }[];
}

/** An agent that receives with `receiver`, or OTLP, and sends everything to a sink. */
async function start({ receiver = {}, processors = {}, directory = temporaryFolder(), pipeline = {} }: Parts) {
  const sink = await startSink();
  onTestFinished(() => sink.close());
  const receivers = { otlp: { protocols: { http: { endpoint: "127.0.0.1:0" } } }, ...receiver };
  const config = {
    receivers,
    processors,
    exporters: { otlp_http: { endpoint: sink.url } },
    extensions: { reliability: { directory }, admin: { endpoint: "127.0.0.1:0" } },
    service: {
      extensions: ["reliability", "admin"],
      telemetry: { metrics: { readers: [{ pull: { exporter: { prometheus: { host: "127.0.0.1", port: 0 } } } }] } },
      max_record_size: LIMIT,
      pipelines: {
        logs: {
          receivers: Object.keys(receivers),
          processors: Object.keys(processors),
          exporters: ["otlp_http"],
          ...pipeline,
        },
      },
    },
  };
  const agent = await startAgentProcess({ yaml: JSON.stringify(config) });
  const stop = async () => {
    agent.child.kill("SIGKILL");
    await agent.exited;
  };
  onTestFinished(stop);
  const logged = (text: string) =>
    JSON.parse(agent.output.stderr.split("\n").find((line) => line.includes(text)) ?? "{}") as Record<string, string>;
  const metrics = async () => (await fetch(logged("metrics for Prometheus")["url"]!)).text();
  const origin = `http://${logged("admin API is listening")["endpoint"]}`;
  const headers = { authorization: `Bearer ${await adminToken(origin)}`, "content-type": "application/json" };
  const admin = async (path: string, body?: object) => {
    const request = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
    return (await fetch(`${origin}/api/v1/${path}`, { headers, ...request })).json() as Promise<AdminAnswer>;
  };
  const post = async (logRecords: object[], attributes: object[] = []) => {
    const body = JSON.stringify({ resourceLogs: [{ resource: { attributes }, scopeLogs: [{ logRecords }] }] });
    const json = { "content-type": "application/json" };
    return fetch(`http://127.0.0.1:${agent.ports.http}/v1/logs`, { method: "POST", headers: json, body });
  };
  return { sink, logged, metrics, admin, post, stop };
}

function fileLog(lines: readonly string[], operators: object[]): object {
  const file = join(temporaryFolder(), "a.log");
  writeFileSync(file, lines.map((line) => `${line}\n`).join(""));
  return { file_log: { include: [file], start_at: "beginning", operators } };
}

const received = (sink: OtlpSink) => sink.batches.flatMap(bodies);
const largest = (sink: OtlpSink) => Math.max(...sink.batches.map(({ bytes }) => largestParts("logs", bytes).record));

describe("log operators", () => {
  it.each([
    [
      "copy an entry into itself again and again",
      "x".repeat(1000),
      [
        { type: "copy", from: "body", to: "attributes.a" },
        ...Array.from({ length: 50 }, (_, i) => ({ type: "copy", from: "attributes", to: `attributes.n${i}` })),
      ],
    ],
    [
      "add the body again and again",
      "x".repeat(1000),
      Array.from({ length: 500 }, (_, i) => ({ type: "add", field: `attributes.n${i}`, value: "EXPR(body)" })),
    ],
    [
      "match a line with very many groups",
      "x".repeat(10_000),
      [
        {
          type: "regex_parser",
          regex: `${Array.from({ length: 30 }, (_, i) => `(?P<g${i}>`).join("")}.*${")".repeat(30)}`,
        },
      ],
    ],
    ["parse a line of very many short values", `{"a":[${"1,".repeat(20_000)}1]}`, [{ type: "json_parser" }]],
  ])("make no record larger than the limit, and lose none, when they %s", async (_, line, operators) => {
    const { sink, logged, metrics } = await start({ receiver: fileLog([line, "short"], operators) });
    await expect.poll(() => received(sink)).toEqual([line, "short"]);
    expect(largest(sink)).toBeLessThanOrEqual(LIMIT);
    expect(logged("an operator failed")["reason"]).toBe(
      `the record would be too large: more than ${LIMIT} bytes (service.max_record_size)`,
    );
    expect(await metrics()).toMatch(/sluice_operator_errors_total\{.*receiver="file_log".*\} [1-9]/);
  });

  it("join no more lines than fit into a record", async () => {
    const lines = Array.from({ length: 50 }, (_, i) => `${i} ${"x".repeat(10_000)}`);
    const operators = [{ type: "recombine", is_first_entry: 'body startsWith "0"', combine_field: "body" }];
    const { sink } = await start({ receiver: fileLog([...lines, "0 end"], operators) });
    await expect.poll(() => received(sink).join("\n").length).toBeGreaterThan(50 * 10_000);
    await expect.poll(() => received(sink).flatMap((text) => text.split("\n"))).toEqual([...lines, "0 end"]);
    expect(largest(sink)).toBeLessThanOrEqual(LIMIT);
    expect(received(sink).length).toBeLessThan(10);
  });
});

describe("OTTL statements", () => {
  it.each([
    ["refused, and its client is told", {}],
    ["kept as a dead letter", { error_mode: "dead_letter" }],
  ])("let a whole batch grow no further than four such records: what would is %s", async (_, pipeline) => {
    const statements = ['set(attributes["copy"], resource.attributes["text"])'];
    const transform = { error_mode: "ignore", log_statements: [{ context: "log", statements }] };
    const { sink, post, metrics, admin } = await start({ processors: { transform }, pipeline });
    const text = { key: "text", value: { stringValue: "x".repeat(LIMIT / 2) } };
    const records = (count: number) => Array.from({ length: count }, (_, i) => ({ body: { stringValue: `${i}` } }));
    expect((await post(records(6), [text])).status).toBe(200);
    await expect.poll(() => received(sink)).toHaveLength(6);
    const answer = await post(records(2000), [text]);
    if ("error_mode" in pipeline) {
      expect(answer.status).toBe(200);
      const letters = async () => (await admin("dead-letters")).entries;
      await expect
        .poll(letters)
        .toMatchObject([{ items: 2000, failure: { error: { code: "SLUICE_RECORD_TOO_LARGE" } } }]);
    } else {
      expect([answer.status, await answer.text()]).toEqual([400, expect.stringContaining("the batch too large")]);
    }
    expect(await metrics()).toMatch(/^sluice_component_failures_total\{.*transform.*\} 1$/m);
    expect(received(sink)).toHaveLength(6);
  });
});

describe("a replay", () => {
  const addresses = "a@b.co ".repeat(5000);

  /** An agent with a dead letter, and one that finds it in its queue and replays it. */
  async function replayed(processors: object, options: object) {
    const directory = temporaryFolder();
    const before = await start({ directory });
    before.sink.decide(() => 400);
    await before.post([{ body: { stringValue: addresses } }]);
    await expect.poll(async () => (await before.admin("dead-letters")).entries).toHaveLength(1);
    await before.stop();
    const { sink, admin } = await start({ directory, processors });
    const { id } = await admin("dead-letters/replay", { all: true, by: "ann", ...options });
    await expect.poll(async () => (await admin(`replays/${id}`)).state).not.toBe("running");
    const { report } = await admin(`replays/${id}`);
    const failures = async () => (await admin("dead-letters")).entries.map(({ failure }) => failure.error);
    return { sink, report, failures };
  }

  it("leaves a dead letter that statements would make too large, and says why", async () => {
    const transform = Array.from({ length: 4 }, (_, i) => `set(log.attributes["n${i}"], log.body)`);
    const { sink, report, failures } = await replayed({}, { transform });
    expect(report).toMatchObject({ replayed: 0, skipped: { skip_transform: 1 } });
    expect(JSON.stringify(report)).toContain(`too large: more than ${LIMIT} bytes`);
    expect(await failures()).toHaveLength(1);
    expect(sink.batches).toEqual([]);
  });

  const pii = { strategy: "hash", hash_key: "0123456789abcdef" };

  it("leaves a dead letter that a replay step would make too large, and says why", async () => {
    const { sink, report, failures } = await replayed({ pii }, {});
    expect(report).toMatchObject({ replayed: 0, skipped: { skip_schema: 1 }, examples: [{ message: STEP_PROBLEM }] });
    expect(await failures()).toHaveLength(1);
    expect(sink.batches).toEqual([]);
  });
});

const STEP_PROBLEM = `the replay steps of its pipeline made a record too large: more than ${LIMIT} bytes (service.max_record_size)`;
