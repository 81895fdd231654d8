import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { freePort } from "../../../src/agent/testing/free-port.js";
import { startAgentProcess } from "../../support/agent-process.js";
import { temporaryFolder } from "../../support/temporary-folder.js";
import { until } from "../../support/until.js";
import { startOpampServer } from "./opamp-server.js";
import { int, sub, text } from "./proto.js";

describe("a remote config that was kept", () => {
  it("does not keep the agent from starting when a component of it cannot start", async () => {
    const server = await startOpampServer();
    const taken = createServer().listen(0, "127.0.0.1");
    await once(taken, "listening");
    onTestFinished(() => void taken.close());
    const { port } = taken.address() as { port: number };
    const folder = temporaryFolder();
    const remote = `
receivers: {otlp/remote: {protocols: {http: {endpoint: "127.0.0.1:${port}"}}}}
service: {pipelines: {logs: {receivers: [otlp/remote]}}}
`;
    mkdirSync(join(folder, "opamp", "opamp"), { recursive: true });
    const applied = { hash: "aabb", digest: "bb", files: [{ name: "remote config", text: remote }] };
    writeFileSync(join(folder, "opamp", "opamp", "remote-config.json"), JSON.stringify({ applied }));
    const own = `
receivers: {otlp: {protocols: {http: {endpoint: "127.0.0.1:${await freePort()}"}}}}
exporters: {debug: {}}
extensions:
  opamp:
    server: {ws: {endpoint: "${server.wsUrl}"}}
    capabilities: {accepts_remote_config: true}
    storage: {directory: ${JSON.stringify(join(folder, "opamp"))}}
  reliability: {directory: ${JSON.stringify(join(folder, "queue"))}}
service:
  extensions: [opamp, reliability]
  telemetry: {metrics: {level: none}}
  pipelines: {logs: {receivers: [otlp], exporters: [debug]}}
`;
    const agent = await startAgentProcess({ yaml: own }, { cwd: folder });
    onTestFinished(async () => {
      agent.child.kill("SIGKILL");
      await agent.exited;
    });
    await until(() => {
      const status = server.messages.map(({ fields }) => sub(fields, 7)).findLast((each) => each !== undefined);
      expect(status && int(status, 2)).toBe(3);
      expect(status && text(status, 3)).toMatch(/otlp\/remote.* in use by another program/);
    });
  });
});
