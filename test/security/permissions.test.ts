import { chmodSync, lstatSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import type { Logger } from "../../src/plugin.js";
import { openQueue, queueOf } from "../agent/cli/dlq/support.js";
import { cleanUp, startWrapped } from "../runtime/queue/agent.js";
import { startAgentProcess } from "../support/agent-process.js";
import { temporaryFolder } from "../support/temporary-folder.js";

afterEach(cleanUp);

/** Returns the files of a folder, and the folder, that users other than the owner could use. */
function openToOthers(path: string): string[] {
  const found = lstatSync(path);
  const below = found.isDirectory() ? readdirSync(path).flatMap((name) => openToOthers(join(path, name))) : [];
  return (found.mode & 0o077) === 0 ? below : [path, ...below];
}

function openToAll(path: string): void {
  if (lstatSync(path).isDirectory()) {
    chmodSync(path, 0o755);
    for (const name of readdirSync(path)) openToAll(join(path, name));
  } else chmodSync(path, 0o644);
}

const EXPORTER =
  "  otlp_http: {endpoint: 'http://127.0.0.1:9', retry_on_failure: {initial_interval: 1h, max_interval: 1h}}";

it("writes its queue and its files for their owner alone, also where the umask would let others read", async () => {
  const folder = temporaryFolder();
  const before = process.umask(0o022);
  const yaml = `
receivers: {otlp: {dedup: {enabled: true, directory: ${folder}/keys}, protocols: {http: {endpoint: 127.0.0.1:0}}}}
exporters:
${EXPORTER}
  file: {path: ${folder}/data/out.json, create_directory: true}
  debug: {output_paths: [${folder}/debug.txt]}
extensions: {reliability: {directory: ${folder}/queue}}
service:
  extensions: [reliability]
  telemetry: {metrics: {level: none}}
  pipelines: {logs: {receivers: [otlp], exporters: [otlp_http, file, debug]}}
`;
  const agent = await startAgentProcess({ yaml }).finally(() => process.umask(before));
  const record = { body: { stringValue: "a" } };
  const body = JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords: [record] }] }] });
  const headers = { "content-type": "application/json", "idempotency-key": "k" };
  const url = `http://127.0.0.1:${agent.ports.http}/v1/logs`;
  expect((await fetch(url, { method: "POST", headers, body })).status).toBe(200);
  const open = openToOthers(folder);
  agent.child.kill("SIGTERM");
  await agent.exited;
  expect(open).toEqual([join(folder, "data")]);
  expect(openToOthers(folder)).toEqual([join(folder, "data")]);
});

it("makes a queue private that others could read, with its set-aside files, and logs it once", async () => {
  const directory = temporaryFolder();
  await queueOf(directory, "otlp_http", [{}]);
  const lines: string[] = [];
  const logger = { debug() {}, info() {}, error() {}, warn: (_: object, text: string) => lines.push(text) };
  const fed = { directory, logger: { ...logger, child: () => logger } as unknown as Logger };
  openToAll(directory);
  const { agent } = await startWrapped(EXPORTER, fed);
  expect(openToOthers(directory)).toEqual([]);
  expect(lines.filter((text) => text.includes("other users could read"))).toHaveLength(1);
  await agent.stop(0);
});

it("leaves a directory alone in which there are files of others", async () => {
  const directory = temporaryFolder();
  await queueOf(directory, "otlp_http", [{}]);
  writeFileSync(join(directory, "notes.txt"), "");
  openToAll(directory);
  await startWrapped(EXPORTER, { directory });
  expect(openToOthers(directory)).toEqual([directory, join(directory, "notes.txt")]);
});

it("closes files that LevelDB makes in a program that lets others read what it writes", async () => {
  const directory = temporaryFolder();
  const before = process.umask(0o022);
  try {
    const store = await openQueue(directory, "otlp_http");
    await store.close();
    expect(openToOthers(join(directory, "otlp_http"))).toEqual([]);
  } finally {
    process.umask(before);
  }
});
