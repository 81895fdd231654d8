import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { parse } from "yaml";
import { type OpampServer, startOpampServer } from "../extensions/opamp/opamp-server.js";
import { int, map, proto, sub, text } from "../extensions/opamp/proto.js";
import { type AgentProcess, startAgentProcess } from "../support/agent-process.js";
import { temporaryFolder } from "../support/temporary-folder.js";
import { until } from "../support/until.js";

const TOKEN = "a-token-that-nobody-may-see";

const config = (server: OpampServer, folder: string) => `
extensions:
  opamp:
    server: { ws: { endpoint: "${server.wsUrl}", headers: { Authorization: "Bearer ${TOKEN}" } } }
    capabilities: { accepts_remote_config: true }
    storage: { directory: ${join(folder, "opamp")} }
  reliability: { directory: ${join(folder, "queue")} }
  health_check: { endpoint: "127.0.0.1:0" }
  admin: { endpoint: "127.0.0.1:0" }
receivers: { otlp: { protocols: { http: { endpoint: "127.0.0.1:0" } } } }
exporters: { file: { path: ${join(folder, "own.jsonl")} } }
service:
  telemetry: { metrics: { level: none } }
  extensions: [opamp, reliability, health_check, admin]
  allow: [file.path]
  pipelines: { logs: { receivers: [otlp], exporters: [file] } }
`;

/** Records get another attribute, and go to another file. */
const remote = (folder: string) => `
processors: { attributes: { actions: [{ key: fleet, value: north, action: insert }] } }
exporters: { file/remote: { path: ${join(folder, "remote.jsonl")} } }
service:
  extensions: [health_check]
  pipelines: { logs: { receivers: [otlp], processors: [attributes], exporters: [file/remote] } }
`;

const offer = (hash: string, yaml: string) =>
  proto([3, proto([1, proto([1, proto([1, "fleet.yaml"], [2, proto([1, yaml])])])], [2, hash])]);

async function startAgent(yaml: string): Promise<AgentProcess> {
  const agent = await startAgentProcess({ yaml });
  onTestFinished(async () => {
    agent.child.kill("SIGKILL");
    await agent.exited;
  });
  return agent;
}

async function send(port: number, body: string): Promise<number> {
  const record = { resourceLogs: [{ scopeLogs: [{ logRecords: [{ body: { stringValue: body } }] }] }] };
  const headers = { "content-type": "application/json" };
  const url = `http://127.0.0.1:${port}/v1/logs`;
  return (await fetch(url, { method: "POST", headers, body: JSON.stringify(record) })).status;
}

const contentOf = (file: string) => {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
};

it("reports, takes a remote config, refuses a bad one, and is the same after a crash", async () => {
  const folder = temporaryFolder();
  const server = await startOpampServer();
  const statuses = () =>
    server.messages
      .map(({ fields }) => sub(fields, 7))
      .filter((status) => status !== undefined)
      .map((status) => ({ hash: text(status, 1), status: int(status, 2), error: text(status, 3) }));
  const effective = () => {
    const part = server.messages.map(({ fields }) => sub(fields, 6)).findLast((found) => found !== undefined);
    return text(map(sub(part!, 1), 1)[""], 1);
  };

  const agent = await startAgent(config(server, folder));
  await until(() => expect(server.messages.length).toBeGreaterThan(0));
  expect(server.messages[0]!.headers.authorization).toBe(`Bearer ${TOKEN}`);
  expect(parse(effective()).receivers).toHaveProperty("otlp");
  expect(effective()).not.toContain(TOKEN);
  await until(() => {
    const health = server.messages.map(({ fields }) => sub(fields, 5)).findLast((found) => found !== undefined);
    expect([int(health, 1), Object.keys(map(health, 6))]).toEqual([1, ["pipeline:logs"]]);
  });
  expect(await send(agent.ports.http, "before")).toBe(200);
  await until(() => expect(contentOf(join(folder, "own.jsonl"))).toContain("before"));

  server.push(offer("good", remote(folder)));
  await until(() => expect(statuses().at(-1)).toEqual({ hash: "good", status: 1, error: "" }));
  await until(() => expect(effective()).toContain("file/remote"));
  expect(await send(agent.ports.http, "after")).toBe(200);
  await until(() => expect(contentOf(join(folder, "remote.jsonl"))).toMatch(/after.*north|north.*after/));

  server.push(
    offer(
      "bad",
      "exporters: { otlp_http: { endpoint: 17 } }\nservice: { pipelines: { logs: { exporters: [otlp_http] } } }",
    ),
  );
  await until(() => expect(statuses().at(-1)).toMatchObject({ hash: "bad", status: 3 }));
  expect(statuses().at(-1)!.error).toContain("exporters.otlp_http.endpoint");
  expect(await send(agent.ports.http, "still the good one")).toBe(200);
  await until(() => expect(contentOf(join(folder, "remote.jsonl"))).toContain("still the good one"));

  agent.child.kill("SIGKILL");
  await agent.exited;
  const seen = server.messages.length;
  const again = await startAgent(config(server, folder));
  await until(() => expect(server.messages.length).toBeGreaterThan(seen));
  expect(server.messages[seen]!.fields.get(1)).toEqual(server.messages[0]!.fields.get(1));
  expect(statuses().at(-1)).toMatchObject({ hash: "bad", status: 3 });
  expect(await send(again.ports.http, "after the crash")).toBe(200);
  await until(() => expect(contentOf(join(folder, "remote.jsonl"))).toMatch(/after the crash/));
  expect(contentOf(join(folder, "own.jsonl"))).not.toContain("after");
});
