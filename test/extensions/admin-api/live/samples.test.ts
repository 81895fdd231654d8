import { request } from "node:http";
import { describe, expect, it, onTestFinished } from "vitest";
import { logs } from "../../../support/telemetry/batches.js";
import { batchFor } from "../../../support/telemetry/ottl.js";
import { undescribed } from "../openapi-document.js";
import { type RunningApi, startRunningApi } from "../running-agent.js";

const CONFIG = `
processors: {filter: {error_mode: ignore, logs: {log_record: ['body == "drop"']}}}
connectors: {forward: }
exporters: {nop: }
service:
  extensions: [reliability, admin]
  pipelines:
    logs: {receivers: [hand], processors: [filter], exporters: [nop, forward]}
    logs/other: {receivers: [hand], exporters: [nop]}
    logs/next: {receivers: [forward], exporters: [nop]}
    metrics: {receivers: [hand], exporters: [nop]}
`;

// biome-ignore lint/suspicious/noExplicitAny: events have data of every shape
type Json = any;

/** Posts a request for a sample; `events` grows as they come. */
async function sample({ url, authorization }: RunningApi, body: object) {
  const events: { event: string; data: Json }[] = [];
  const state = { status: 0, isEnded: false };
  const headers = { authorization, "content-type": "application/json" };
  await new Promise<void>((resolve, reject) => {
    const post = request(`${url}/samples`, { method: "POST", headers }, (response) => {
      state.status = response.statusCode!;
      let rest = "";
      response.setEncoding("utf8").on("data", (chunk: string) => {
        const blocks = (rest + chunk).split("\n\n");
        rest = blocks.pop()!;
        for (const block of blocks) {
          const [, event, data] = /^event: (\S+)\ndata: (.*)$/.exec(block) ?? [];
          if (event !== undefined) events.push({ event, data: JSON.parse(data!) });
        }
        resolve();
      });
      response.on("error", () => {});
      response.on("close", () => {
        state.isEnded = true;
        resolve();
      });
    });
    onTestFinished(() => void post.destroy());
    post.on("error", reject);
    post.end(JSON.stringify({ reason: "a test", ...body }));
  });
  const of = (name: string): Json[] => events.filter(({ event }) => event === name).map(({ data }) => data);
  return { state, of };
}

describe("POST /samples", () => {
  it("sends batches as receivers hand them in, once each, whatever the pipelines do with them", async () => {
    const api = await startRunningApi(CONFIG);
    const { of } = await sample(api, {});
    const [log, metric] = [logs("a", "drop", "ann@example.com"), batchFor("datapoint")];
    await api.hand(log);
    await api.hand(metric);
    await expect.poll(() => of("batch")).toHaveLength(2);
    expect(of("batch")).toMatchObject([
      { receiver: "hand", signal: "logs", payload: Buffer.from(log.bytes).toString("base64") },
      { receiver: "hand", signal: "metrics", payload: Buffer.from(metric.bytes).toString("base64") },
    ]);
    expect(undescribed(of("batch")[0], "SampledBatch")).toEqual([]);
  });

  it("ends before it is larger than it may be", async () => {
    const api = await startRunningApi(CONFIG);
    const one = logs("a");
    const { of, state } = await sample(api, { max_bytes: one.byteLength * 2 });
    for (let i = 0; i < 5; i++) await api.hand(one);
    await expect.poll(() => state.isEnded).toBe(true);
    expect([of("batch").length, of("end")]).toEqual([2, [{ reason: "bytes" }]]);
  });

  it("ends when its time is over", async () => {
    const api = await startRunningApi(CONFIG);
    const { of, state } = await sample(api, { seconds: 1 });
    await expect.poll(() => state.isEnded).toBe(true);
    expect(of("end")).toEqual([{ reason: "time" }]);
  });

  it("is recorded in the audit, with the reason, before anything is sent", async () => {
    const api = await startRunningApi(CONFIG);
    await sample(api, { by: "ann", reason: "a rehearsal", share: 0.5 });
    const { body } = await api.ask("GET", "/audit?action=reveal");
    expect(body.records).toMatchObject([
      { actor: "ann", reason: "a rehearsal", target: "live traffic", filter: { share: 0.5 } },
    ]);
  });

  it.each([
    ["without a reason", { reason: "" }, "a reason is required"],
    ["for an unknown receiver", { receivers: ["nosuch"] }, 'there is no receiver "nosuch"; there are: hand'],
    ["for nothing", { share: 0 }, "share"],
    ["for too long", { seconds: 1e6 }, "seconds"],
  ])("is refused %s", async (_, body, message) => {
    const { ask } = await startRunningApi(CONFIG);
    const { status, body: answer } = await ask("POST", "/samples", { reason: "a test", ...body });
    expect([status, answer.error.message]).toEqual([400, expect.stringContaining(message)]);
  });
});
