import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { startAgentProcess } from "../support/agent-process.js";
import { startSink } from "../support/otlp-sink.js";
import { temporaryFolder } from "../support/temporary-folder.js";

const PERSONAL = ["anna@example.com", "203.0.113.77", "4111 1111 1111 1111", "hunter22", "s-314159", "user-271828"];
const HARMLESS = "order 42 paid by ";

/** Returns the bytes of all files in a folder. */
function bytesOf(folder: string): Buffer {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).map((name) => join(folder, name));
  return Buffer.concat(files.filter((file) => statSync(file).isFile()).map((file) => readFileSync(file)));
}

const found = (bytes: Buffer) => PERSONAL.filter((text) => bytes.includes(text));

it("keeps originals from every byte that analytics gets, on the wire and on disk, while the audit gets them", async () => {
  const [audit, analytics] = [await startSink(), await startSink()];
  const down = (_: unknown, response: import("node:http").ServerResponse) => void response.writeHead(503).end();
  audit.respond(down);
  analytics.respond(down);
  const queue = temporaryFolder();
  const endpoints = ["http", "grpc"].flatMap((name) => [
    "--set",
    `receivers.otlp.protocols.${name}.endpoint=127.0.0.1:0`,
  ]);
  const agent = await startAgentProcess(
    { file: join(import.meta.dirname, "../../config/audit-and-analytics.yaml") },
    {
      args: [...endpoints, "--set", "service.telemetry.metrics.level=none"],
      env: { AUDIT: audit.url, ANALYTICS: analytics.url, QUEUE: queue, PII_KEY: "a key for the hashes of this test" },
    },
  );
  const attribute = (key: string, stringValue: string) => ({ key, value: { stringValue } });
  const record = {
    body: { stringValue: `${HARMLESS}${PERSONAL[0]} from ${PERSONAL[1]} with ${PERSONAL[2]}` },
    attributes: [
      attribute("db.password", PERSONAL[3]!),
      attribute("session.id", PERSONAL[4]!),
      attribute("user.id", PERSONAL[5]!),
    ],
  };
  const response = await fetch(`http://127.0.0.1:${agent.ports.http}/v1/logs`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords: [record] }] }] }),
  });
  expect(response.status).toBe(200);

  const folderOf = (name: string) => join(queue, readdirSync(queue).find((folder) => folder.includes(name))!);
  const [kept, treated] = [bytesOf(folderOf("audit")), bytesOf(folderOf("analytics"))];
  expect(found(kept)).toEqual(PERSONAL);
  expect(treated.includes(HARMLESS)).toBe(true);
  expect(found(treated)).toEqual([]);

  audit.respond(undefined);
  analytics.respond(undefined);
  await expect.poll(() => [audit.count, analytics.count]).toEqual([1, 1]);
  expect(found(Buffer.from(audit.batches[0]!.bytes))).toEqual(PERSONAL);
  expect(found(Buffer.from(analytics.batches[0]!.bytes))).toEqual([]);

  agent.child.kill("SIGTERM");
  expect(await agent.exited).toBe(0);
  expect(found(bytesOf(folderOf("analytics")))).toEqual([]);
  expect(agent.output.stderr + agent.output.stdout).not.toContain(PERSONAL[0]);
  await Promise.all([audit.close(), analytics.close()]);
});
