import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { freePort } from "../../../src/agent/testing/free-port.js";
import { type AgentProcess, startAgentProcess } from "../../support/agent-process.js";
import { isLongForm, patience, seed } from "../long-form.js";

const TOKEN = "token-of-the-operator";
const TEXTS = ["good 1", "bad 2", "good 3", "bad 4", "good 5", "bad 6"];
/** The short form kills at every sixth write, and begins at another one each time. */
const STEP = isLongForm ? 1 : 6;
const KILLER = new URL("kill-at-write.mjs", import.meta.url).href;
const cleanups: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** A backend that refuses bad records until it is repaired. Counts how often each text came. */
async function startPickyBackend() {
  const arrived = new Map<string, number>();
  const state = { isRepaired: false };
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const texts = Buffer.concat(chunks)
        .toString("latin1")
        .match(/(?:good|bad) \d/g);
      if (!state.isRepaired && texts?.some((text) => text.startsWith("bad")))
        return response.writeHead(400).end("bad record");
      for (const text of texts ?? []) arrived.set(text, (arrived.get(text) ?? 0) + 1);
      response.writeHead(200).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  return { url: `http://127.0.0.1:${port}`, arrived, state, close };
}

interface Scene {
  readonly directory: string;
  readonly yaml: string;
  readonly apiPort: number;
  readonly backend: Awaited<ReturnType<typeof startPickyBackend>>;
}

async function createScene(): Promise<Scene> {
  const directory = mkdtempSync(join(tmpdir(), "sluice-every-write-"));
  cleanups.push(() => rmSync(directory, { recursive: true, force: true }));
  const backend = await startPickyBackend();
  cleanups.push(backend.close);
  const apiPort = await freePort();
  const yaml = `
receivers: {otlp: {protocols: {http: {endpoint: "127.0.0.1:0"}}}}
exporters: {otlp_http: {endpoint: "${backend.url}", compression: none, durability: process}}
extensions:
  reliability: {directory: ${join(directory, "queues")}}
  admin:
    endpoint: "127.0.0.1:${apiPort}"
    tokens: [{name: operator, token: ${TOKEN}, roles: [view, reveal, replay]}]
service:
  extensions: [reliability, admin]
  telemetry: {metrics: {level: none}}
  pipelines: {logs: {receivers: [otlp], exporters: [otlp_http]}}
`;
  return { directory, yaml, apiPort, backend };
}

async function start({ yaml }: Scene, env: Record<string, string> = {}): Promise<AgentProcess> {
  const agent = await startAgentProcess({ yaml }, { env });
  cleanups.push(async () => {
    agent.child.kill("SIGKILL");
    await agent.exited;
  });
  return agent;
}

/** Returns whether the agent answered that it has the record. */
async function send({ ports }: AgentProcess, text: string): Promise<boolean> {
  const logRecords = [{ timeUnixNano: "1", body: { stringValue: text } }];
  const response = await fetch(`http://127.0.0.1:${ports.http}/v1/logs`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] }),
  }).catch(() => undefined);
  return response?.status === 200;
}

async function ask({ apiPort }: Scene, path: string, body?: unknown) {
  const headers = { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" };
  const init = body === undefined ? { headers } : { method: "POST", headers, body: JSON.stringify(body) };
  const response = await fetch(`http://127.0.0.1:${apiPort}/api/v1${path}`, init);
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  const answer = (await response.json()) as any;
  if (!response.ok) throw new Error(answer.error.message);
  return answer;
}

async function deadLetterIds(scene: Scene): Promise<string[]> {
  return (await ask(scene, "/dead-letters?limit=100")).entries.map(({ id }: { id: string }) => id);
}

/** One dead letter is replayed as it is, the others after a change, which writes them anew. */
async function replayAll(scene: Scene): Promise<void> {
  const [first, ...others] = await deadLetterIds(scene);
  const how = { by: "ann", rate: 10_000 };
  const transform = ['set(log.attributes["changed"], true)'];
  if (others.length > 0) await ask(scene, "/dead-letters/replay", { ids: others, transform, ...how });
  if (first !== undefined) await ask(scene, "/dead-letters/replay", { ids: [first], ...how });
}

const isBad = (text: string) => text.startsWith("bad");

/** Sends everything, waits for dead letters, repairs the backend and replays. Returns the texts that were acknowledged. */
async function work(scene: Scene, agent: AgentProcess, acknowledged: Set<string>): Promise<void> {
  for (let i = 0; i < TEXTS.length; i += 2) {
    const pair = TEXTS.slice(i, i + 2);
    const answers = await Promise.all(pair.map((text) => send(agent, text)));
    for (const [n, text] of pair.entries()) if (answers[n]) acknowledged.add(text);
  }
  await expect.poll(() => deadLetterIds(scene)).toHaveLength(TEXTS.filter(isBad).length);
  scene.backend.state.isRepaired = true;
  await replayAll(scene);
  await expect.poll(() => scene.backend.arrived.size).toBe(TEXTS.length);
}

/** Returns whether the agent lived long enough to be killed. */
async function killAt(when: "before" | "after", number: number): Promise<boolean> {
  const scene = await createScene();
  const { backend, directory } = scene;
  const countFile = join(directory, "writes");
  writeFileSync(countFile, "0");
  const acknowledged = new Set<string>();
  const where = `killed ${when} write ${number}`;
  const killer = { NODE_OPTIONS: `--import ${KILLER}`, KILL_AT: `${when} ${number}`, KILL_COUNT_FILE: countFile };
  const running = start(scene, killer).then(async (agent) => {
    await Promise.race([agent.exited, work(scene, agent, acknowledged).catch(() => agent.exited)]);
    agent.child.kill("SIGTERM");
    return agent.exited;
  });
  // Killed before it was ready, it had promised nothing.
  await running.catch(() => {});
  const wasKilled = Number(readFileSync(countFile, "utf8")) >= number;
  backend.state.isRepaired = false;
  const next = await start(scene);
  const goodOnes = [...acknowledged].filter((text) => !isBad(text));
  await expect.poll(() => goodOnes.filter((text) => !backend.arrived.has(text)), { message: where }).toEqual([]);
  backend.state.isRepaired = true;
  const missing = () => [...acknowledged].filter((text) => !backend.arrived.has(text));
  await expect
    .poll(
      async () => {
        await replayAll(scene);
        return missing();
      },
      { message: where },
    )
    .toEqual([]);
  // A call whose answer the killed agent did not hear is made again, once.
  for (const [text, times] of backend.arrived) expect([where, text, times <= 2]).toEqual([where, text, true]);
  expect(next.output.stderr, where).not.toMatch(/set aside|corrupt|damaged|lost/i);
  next.child.kill("SIGTERM");
  expect(await next.exited, where).toBe(0);
  return wasKilled;
}

describe("an agent that is killed at one of its writes", () => {
  it.each(["before", "after"] as const)(
    "has all that it acknowledged, killed %s any of them",
    {
      timeout: patience(600_000),
    },
    async (when) => {
      let number = 1 + (seed % STEP);
      while (await killAt(when, number)) {
        for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
        number += STEP;
      }
      expect(number).toBeGreaterThan(6);
    },
  );
});
