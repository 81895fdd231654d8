import { describe, expect, it, onTestFinished } from "vitest";
import { freePort } from "../../../../src/agent/testing/free-port.js";
import { reliability } from "../../../../src/extensions/reliability/component.js";
import { agentOf, resolve } from "../../../support/agent.js";
import { temporaryFolder } from "../../../support/temporary-folder.js";
import { startBackend } from "./oracle.js";

const DEAD_LETTERS = 60;

async function scene() {
  const [directory, port, backend] = [temporaryFolder(), await freePort(), await startBackend()];
  onTestFinished(() => backend.close());
  const yaml = (consumers: number, queues = directory) => `
receivers: {otlp: {protocols: {http: {endpoint: "127.0.0.1:${port}"}}}}
exporters: {otlp_http: {endpoint: "http://127.0.0.1:${backend.port}", compression: none, sending_queue: {num_consumers: ${consumers}}}}
extensions: {reliability: {directory: ${JSON.stringify(queues)}, durability: process}}
service:
  extensions: [reliability]
  telemetry: {metrics: {level: none}}
  pipelines: {logs: {receivers: [otlp], exporters: [otlp_http]}}
`;
  const agent = agentOf(yaml(2), { components: [reliability] });
  await agent.start();
  onTestFinished(() => agent.stop(1000));
  const reload = (consumers: number, queues?: string) => agent.reload(resolve(yaml(consumers, queues), [reliability]));
  const post = async (id: string) => {
    const logRecords = [{ body: { stringValue: id } }];
    const { status } = await fetch(`http://127.0.0.1:${port}/v1/logs`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] }),
    });
    expect(status).toBe(200);
  };
  return { agent, backend, reload, post };
}

describe("a reload", () => {
  it("that opens a queue anew loses and doubles no dead letter of a replay under way", async () => {
    const { agent, backend, reload, post } = await scene();
    const ids = Array.from({ length: DEAD_LETTERS }, (_, i) => `record-0-${i}`);
    backend.refuses = true;
    for (const id of ids) await post(id);
    const dead = () => agent.admin!.exporters()[0]!.deadLetters.entries;
    await expect.poll(dead).toBe(DEAD_LETTERS);
    backend.refuses = false;
    const job = await agent.admin!.startReplay({ query: {} }, { by: "ann", rate: 20 });
    expect(job.state).toBe("running");
    await expect.poll(dead).toBeLessThan(DEAD_LETTERS);
    await reload(3);
    await expect.poll(async () => (await agent.admin!.replayJob(job.id))?.state).not.toBe("running");
    await agent.admin!.replay({ query: {} }, { by: "ann", rate: 1000 });
    await expect.poll(() => [...backend.seen.keys()].sort()).toEqual([...ids].sort());
    await expect.poll(dead).toBe(0);
    expect([...backend.seen.values()].filter((times) => times > 1)).toEqual([]);
  });

  it("with another directory of the queues is refused, and the old config takes data as before", async () => {
    const { backend, reload, post } = await scene();
    await expect(reload(2, temporaryFolder())).rejects.toMatchObject({ problems: [{ code: "restart_needed" }] });
    await post("record-1-1");
    await expect.poll(() => backend.seen.get("record-1-1")).toBe(1);
  });

  it("during the drain of a stopping agent is refused", async () => {
    const { agent, reload } = await scene();
    const stopped = agent.stop(1000);
    await expect(reload(3)).rejects.toMatchObject({ problems: [{ code: "start_failed" }] });
    await stopped;
  });
});
