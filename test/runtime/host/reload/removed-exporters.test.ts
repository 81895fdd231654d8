import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { freePort } from "../../../../src/agent/testing/free-port.js";
import { reliability } from "../../../../src/extensions/reliability/component.js";
import type { Agent } from "../../../../src/runtime/host/agent.js";
import { agentOf, resolve } from "../../../support/agent.js";
import { temporaryFolder } from "../../../support/temporary-folder.js";
import { type Backend, startBackend } from "./oracle.js";

interface Shape {
  readonly exporters?: readonly ("old" | "new")[];
  readonly drains?: boolean;
  readonly pipeline?: string;
}

async function scene(first: Shape = { exporters: ["old"] }) {
  const directory = temporaryFolder();
  const port = await freePort();
  const backends: Record<"old" | "new", Backend> = { old: await startBackend(), new: await startBackend() };
  for (const backend of Object.values(backends)) onTestFinished(() => backend.close());
  const yaml = ({ exporters = ["new"], drains = false, pipeline = "logs" }: Shape) => `
receivers: {otlp: {protocols: {http: {endpoint: "127.0.0.1:${port}"}}}}
exporters:
${exporters.map((name) => `  otlp_http/${name}: {endpoint: "http://127.0.0.1:${backends[name].port}", compression: none, retry_on_failure: {initial_interval: 10ms, max_interval: 20ms}, circuit_breaker: {enabled: false}}`).join("\n")}
extensions: {reliability: {directory: ${JSON.stringify(directory)}, durability: process, drain_removed: ${drains}}}
service:
  extensions: [reliability]
  telemetry: {metrics: {level: none}}
  pipelines: {${pipeline}: {receivers: [otlp], exporters: [${exporters.map((name) => `otlp_http/${name}`).join(", ")}]}}
`;
  const start = async (shape: Shape): Promise<Agent> => {
    const agent = agentOf(yaml(shape), { components: [reliability] });
    await agent.start();
    onTestFinished(() => agent.stop(1000));
    return agent;
  };
  const agent = await start(first);
  let sent = 0;
  const post = async () => {
    const id = `record-0-${sent++}`;
    const logRecords = [{ body: { stringValue: id } }];
    const { status } = await fetch(`http://127.0.0.1:${port}/v1/logs`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] }),
    });
    expect(status).toBe(200);
    return id;
  };
  const reload = (shape: Shape) => agent.reload(resolve(yaml(shape), [reliability]));
  const orphans = (of = agent) => of.admin!.orphans!.list();
  const fill = async (count = 5) => {
    backends.old.isDown = true;
    const ids: string[] = [];
    for (let i = 0; i < count; i++) ids.push(await post());
    return ids;
  };
  return { agent, backends, directory, post, reload, orphans, fill, start };
}

const OLD = "otlp_http/old";
const NEW = "otlp_http/new";
const status = (agent: Agent, id: string) => agent.admin!.exporters().find((each) => each.id === id);

describe("an exporter that a reload removes", () => {
  it("runs on until its queue is empty with drain_removed, with its old sender, and is then closed", async () => {
    const { agent, backends, reload, fill, orphans, directory } = await scene();
    const ids = await fill();
    await reload({ drains: true });
    await expect.poll(() => status(agent, OLD)).toMatchObject({ removed: true, queue: { entries: 5 } });
    expect(await orphans()).toEqual([]);
    backends.old.isDown = false;
    await expect.poll(() => status(agent, OLD)).toBeUndefined();
    for (const id of ids) expect(backends.old.seen.get(id)).toBe(1);
    expect(await orphans()).toEqual([]);
    expect(existsSync(join(directory, "otlp_http%2fold"))).toBe(true);
  });

  it("takes its queue up again when a later reload configures it while it drains", async () => {
    const { agent, backends, reload, fill, post, orphans } = await scene();
    const ids = await fill();
    await reload({ drains: true });
    await reload({ exporters: ["old"], drains: true });
    expect(status(agent, OLD)?.removed).toBeUndefined();
    ids.push(await post());
    backends.old.isDown = false;
    await expect.poll(() => [...backends.old.seen.keys()].sort()).toEqual(ids.sort());
    expect(await orphans()).toEqual([]);
  });

  it("stops with the agent while it drains, and its queue is listed at the next start", async () => {
    const { agent, reload, fill, start, orphans } = await scene();
    await fill();
    await reload({ drains: true });
    await agent.stop(1000);
    const next = await start({});
    expect(await orphans(next)).toMatchObject([{ id: OLD, kind: "exporter", pending: 5, deadLetters: 0 }]);
  });

  it("leaves an orphaned queue without drain_removed, which another exporter adopts", async () => {
    const { agent, backends, reload, fill, orphans, directory } = await scene();
    const ids = await fill(120);
    await reload({});
    await expect.poll(orphans).toMatchObject([{ id: OLD, pending: 120 }]);
    const { orphans: queues } = agent.admin!.actingAs({ actor: "ann" });
    expect(await queues!.adopt(OLD, { to: NEW, by: "ann" })).toMatchObject({ total: 120 });
    await expect.poll(() => queues!.adoption(OLD)).toMatchObject({ state: "done", moved: 120, skipped: {} });
    await expect.poll(() => [...backends.new.seen.keys()].sort()).toEqual(ids.sort());
    expect([...backends.new.seen.values()].every((times) => times === 1)).toBe(true);
    await expect.poll(() => readdirSync(directory).filter((name) => name.includes("old"))).toEqual([]);
    expect(await orphans()).toEqual([]);
    const { records } = await agent.admin!.audit({ action: "adopt" });
    expect(records).toMatchObject([
      { actor: "ann", target: OLD, count: 120, outcome: "done", filter: { to: NEW } },
      { actor: "ann", target: OLD, outcome: "started" },
    ]);
  });

  it("keeps dead letters as dead letters when its queue is adopted", async () => {
    const { agent, backends, reload, post, orphans } = await scene();
    backends.old.refuses = true;
    const id = await post();
    await expect.poll(() => status(agent, OLD)?.deadLetters.entries).toBe(1);
    await reload({});
    await expect.poll(orphans).toMatchObject([{ id: OLD, pending: 0, deadLetters: 1 }]);
    await agent.admin!.orphans!.adopt(OLD, { to: NEW, by: "ann" });
    await expect.poll(() => status(agent, NEW)?.deadLetters.entries).toBe(1);
    await expect.poll(() => agent.admin!.orphans!.adoption(OLD)).toMatchObject({ state: "done" });
    expect(backends.new.seen.has(id)).toBe(false);
    await agent.admin!.replay({ query: {} }, { by: "ann" });
    await expect.poll(() => backends.new.seen.get(id)).toBe(1);
  });

  it("is asked for a pipeline when its own is gone, so that nothing passes untreated by accident", async () => {
    const { agent, backends, reload, fill, orphans } = await scene();
    const ids = await fill();
    await reload({ pipeline: "logs/other" });
    await expect.poll(orphans).toHaveLength(1);
    const { orphans: queues } = agent.admin!;
    await queues!.adopt(OLD, { to: NEW, by: "ann" });
    await expect
      .poll(() => queues!.adoption(OLD))
      .toMatchObject({ state: "done", moved: 0, skipped: { skip_pipeline: 5 } });
    expect(await orphans()).toMatchObject([{ pending: 5 }]);
    await expect(queues!.adopt(OLD, { to: NEW, by: "ann", pipeline: "none" })).rejects.toThrow(/no pipeline "none"/);
    await expect
      .poll(() => queues!.adopt(OLD, { to: NEW, by: "ann", pipeline: "logs/other" }).then(() => true))
      .toBe(true);
    await expect.poll(() => [...backends.new.seen.keys()].sort()).toEqual(ids.sort());
  });

  it("is not adopted by nobody, by itself, or by two at once; unknown queues and queues in use are refused", async () => {
    const { agent, reload, fill, orphans } = await scene();
    await fill();
    const queues = agent.admin!.orphans!;
    await expect(queues.adopt(OLD, { to: OLD, by: "ann" })).rejects.toMatchObject({ code: "conflict" });
    await expect(queues.delete(OLD)).rejects.toMatchObject({ code: "conflict" });
    await reload({});
    await expect.poll(orphans).toHaveLength(1);
    await expect(queues.adopt("nothing", { to: NEW, by: "ann" })).rejects.toMatchObject({ code: "not_found" });
    await expect(queues.adopt(OLD, { to: "nobody", by: "ann" })).rejects.toMatchObject({ code: "not_found" });
    const both = await Promise.allSettled([
      queues.adopt(OLD, { to: NEW, by: "ann" }),
      queues.adopt(OLD, { to: NEW, by: "bob" }),
    ]);
    expect(both.map((each) => each.status).sort()).toEqual(["fulfilled", "rejected"]);
  });

  it("is deleted with its entries when an operator says so", async () => {
    const { agent, reload, fill, orphans, directory } = await scene();
    await fill();
    await reload({});
    await expect.poll(orphans).toHaveLength(1);
    expect(await agent.admin!.actingAs({ actor: "ann" }).orphans!.delete(OLD)).toBe(5);
    expect(readdirSync(directory).filter((name) => name.includes("old"))).toEqual([]);
    expect(await orphans()).toEqual([]);
    const { records } = await agent.admin!.audit({ action: "delete_queue" });
    expect(records).toMatchObject([{ actor: "ann", target: OLD, count: 5, outcome: "done" }]);
  });

  it("gets the rest of its queue back when it is configured again during an adoption", async () => {
    const { agent, backends, reload, fill } = await scene();
    const ids = await fill(300);
    await reload({});
    await expect.poll(() => agent.admin!.orphans!.list()).toHaveLength(1);
    await agent.admin!.orphans!.adopt(OLD, { to: NEW, by: "ann" });
    await reload({ exporters: ["old", "new"] });
    backends.old.isDown = false;
    const seen = () => new Set([...backends.old.seen.keys(), ...backends.new.seen.keys()]);
    await expect.poll(() => seen().size).toBe(ids.length);
    expect([...seen()].sort()).toEqual(ids.sort());
    const times = ids.map((id) => (backends.old.seen.get(id) ?? 0) + (backends.new.seen.get(id) ?? 0));
    expect(Math.max(...times)).toBe(1);
  });
});
