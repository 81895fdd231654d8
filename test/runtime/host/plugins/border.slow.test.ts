import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { type AgentProcess, adminToken, startAgentProcess } from "../../../support/agent-process.js";
import { installSluice } from "../../../support/installed.js";

/**
 * Plugins against the built agent, in a process of its own. Where Sluice is installed beside the plugin there are two
 * copies of every class, of zod and of rxjs: whatever crosses the border must not be told by its class.
 */
const PLUGIN = `
import { Batcher, Refusal, MalformedError, StartError, defineExporter, defineProcessor, eachRecord, duration } from "sluice/plugin";
import { Observable, mergeMap } from "rxjs";
import { z } from "zod";

export const edits = defineProcessor({
  type: "edits",
  schema: z.strictObject({ value: z.string().default("none"), pause: duration().default(0) }),
  create: ({ value, pause }) => eachRecord(async (record) => {
    await new Promise((resolve) => setTimeout(resolve, pause));
    if (record.body === "drop") return "drop";
    if (record.body === "split") record.split(["a", "b"], (part, item) => { part.body = item; });
    if (record.body === "dead") return { deadLetter: "not wanted" };
    record.attributes.set("edited", value);
  }),
});
export const refuses = defineProcessor({
  type: "refuses",
  create: () => eachRecord((record) => {
    if (record.body === "refused") throw new Refusal("permanent", "never", { code: "MINE", category: "business" });
    if (record.body === "malformed") throw new MalformedError("odd", 3);
    if (record.body === "thrown") throw new Error("bang");
  }),
});
export const loose = defineProcessor({
  type: "loose",
  create: () => (source) => new Observable((out) => source.subscribe({
    next(delivery) {
      if (Buffer.from(delivery.batch.bytes).includes("by hand")) throw new Error("thrown by hand");
      out.next(delivery);
      setTimeout(() => { throw new Error("in a timer"); });
      Promise.reject(new Error("on its own"));
    },
    complete: () => out.complete(),
  })),
});
export const later = defineProcessor({
  type: "later",
  create: () => mergeMap(async (delivery) => { await null; return delivery; }, 4),
});
export const gathers = defineProcessor({
  type: "gathers",
  create: (_config, { clock }) => (source) => new Observable((out) => {
    const batcher = new Batcher({ timeoutMs: 5, minSize: 1000, maxSize: 1, sizer: "items" }, clock, (delivery) => out.next(delivery));
    return source.subscribe({ next: (delivery) => batcher.add(delivery), complete: () => { batcher.flush(); out.complete(); } });
  }),
});
export const prints = defineExporter({
  type: "prints",
  signals: ["logs"],
  schema: z.strictObject({ path: z.string().optional() }),
  create: ({ path }) => ({
    async start() {
      if (path !== undefined) throw new StartError("no such place", ["path"]);
    },
    send(batch) {
      const text = Buffer.from(batch.bytes).toString("latin1");
      if (text.includes("sent back")) throw new Refusal("permanent", "sent back", { status: "HTTP 400" });
      console.log("printed " + batch.count + " " + text.replace(/[^ -~]+/g, "|"));
    },
  }),
});
`;

const yaml = (plugin: string, folder: string) => `plugins: [${plugin}]
receivers: {otlp: {protocols: {http: {endpoint: "127.0.0.1:0"}}}}
processors: {edits: {value: here, pause: 1ms}, refuses: , loose: , later: , gathers: }
exporters: {prints: }
extensions:
  reliability: {directory: ${JSON.stringify(join(folder, "queue"))}}
  admin: {endpoint: "127.0.0.1:0"}
  health_check: {endpoint: "127.0.0.1:0"}
service:
  extensions: [reliability, admin, health_check]
  telemetry: {metrics: {level: none}}
  pipelines: {logs: {receivers: [otlp], processors: [refuses, loose, edits, later, gathers], exporters: [prints]}}
`;

const root = mkdtempSync(join(tmpdir(), "sluice-border-"));
const installed = join(root, "installed");
let agent: AgentProcess | undefined;
beforeAll(() => {
  installSluice(installed);
  write(installed, {
    "node_modules/acme/package.json": '{"name":"acme","type":"module","exports":"./index.js"}',
    "node_modules/acme/index.js": PLUGIN,
  });
});
afterEach(() => void agent?.child.kill("SIGKILL"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

function write(folder: string, files: Readonly<Record<string, string>>): string {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  return join(folder, "config.yaml");
}

async function post(...bodies: string[]) {
  const logRecords = bodies.map((body) => ({ body: { stringValue: body } }));
  const response = await fetch(`http://127.0.0.1:${agent!.ports.http}/v1/logs`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] }),
  });
  return { status: response.status, text: await response.text() };
}

async function deadLetters(): Promise<unknown[]> {
  const line = agent!.output.stderr.split("\n").find((text) => text.includes("admin API"))!;
  const { endpoint } = JSON.parse(line) as { endpoint: string };
  const headers = { authorization: `Bearer ${await adminToken(`http://${endpoint}`)}` };
  const response = await fetch(`http://${endpoint}/api/v1/dead-letters`, { headers });
  return ((await response.json()) as { entries: unknown[] }).entries;
}

const SETUPS: Readonly<Record<string, () => string>> = {
  "a file with no Sluice near it": () => {
    const folder = mkdtempSync(join(root, "x-"));
    return write(folder, { "plugin.mjs": PLUGIN, "config.yaml": yaml("./plugin.mjs", folder) });
  },
  "a package with a Sluice of its own": () => {
    const folder = mkdtempSync(join(installed, "x-"));
    return write(folder, { "config.yaml": yaml("acme", folder) });
  },
};

describe.each(Object.keys(SETUPS))("a plugin from %s", (name) => {
  it("edits, drops, splits, refuses and dead-letters across the border", async () => {
    agent = await startAgentProcess({ file: SETUPS[name]!() });
    expect(await post("plain", "drop", "split", "dead")).toMatchObject({ status: 200 });
    await expect.poll(() => agent!.output.stdout.match(/printed 1 .*/g) ?? []).toHaveLength(3);
    expect(agent.output.stdout).toMatch(/plain.*edited.*here/);
    expect(agent.output.stdout).not.toContain("drop");

    const refused = await post("refused");
    expect(refused).toMatchObject({ status: 400, text: expect.stringContaining("never") });
    expect(await post("malformed")).toMatchObject({ status: 400, text: expect.stringContaining("odd at byte 3") });
    const thrown = await post("thrown");
    expect(thrown).toMatchObject({ status: 503, text: expect.stringContaining("processor refuses failed: bang") });
    expect(agent.output.stderr).toContain('"msg":"the processor failed: bang"');

    const byHand = await post("by hand");
    expect(byHand).toMatchObject({
      status: 503,
      text: expect.stringContaining("processor loose failed: thrown by hand"),
    });
    const plugin = /uncaught exception in the plugin (\.\/plugin\.mjs|acme)"/;
    await expect.poll(() => agent!.output.stderr).toMatch(plugin);
    expect(agent.output.stderr).toMatch(/unhandled rejection in the plugin (\.\/plugin\.mjs|acme)"/);
    expect(await post("drop")).toMatchObject({ status: 200 });

    expect(await post("sent back")).toMatchObject({ status: 200 });
    await expect
      .poll(deadLetters)
      .toMatchObject([
        { failure: { reason: "permanent", error: { class: "HTTP 400", message: "sent back" } } },
        { failure: { reason: "rejected", error: { code: "SLUICE_REJECTED", message: "not wanted" } } },
      ]);
    agent.child.kill("SIGTERM");
    expect(await agent.exited).toBe(0);
  });

  it("points at the key that is to blame when it cannot start", async () => {
    const file = SETUPS[name]!();
    const started = startAgentProcess({ file }, { args: ["--set", "exporters.prints.path=nowhere"] });
    await expect(started).rejects.toThrow(/no such place\n {2}at --set:1:23 {2}exporters.prints.path/);
  });
});
