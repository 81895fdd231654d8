import { copyFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { connect } from "node:tls";
import { describe, expect, it, onTestFinished } from "vitest";
import { freePort } from "../../../../src/agent/testing/free-port.js";
import { startAgentProcess } from "../../../support/agent-process.js";
import { temporaryFolder } from "../../../support/temporary-folder.js";

const certificates = join(import.meta.dirname, "../../net/tls");

async function run(folder: string, yaml: string) {
  const file = join(folder, "config.yaml");
  const common = `
extensions: {reliability: {directory: ./queue}}
exporters: {debug: {verbosity: detailed}}
`;
  writeFileSync(file, `${common}${yaml}`);
  const agent = await startAgentProcess({ file }, { cwd: folder, args: ["--watch"] });
  onTestFinished(async () => {
    agent.child.kill("SIGKILL");
    await agent.exited;
  });
  return agent;
}

describe("sluice run --watch", () => {
  it("loads a plugin again when a file has changed that the plugin imports", async () => {
    const folder = temporaryFolder();
    const port = await freePort();
    writeFileSync(join(folder, "value.mjs"), 'export const value = "first";');
    writeFileSync(join(folder, "names.mjs"), 'export { value } from "./value.mjs";');
    writeFileSync(
      join(folder, "plugin.mjs"),
      `
import { defineProcessor, eachRecord } from "sluice/plugin";
import { value } from "./names.mjs";
export default defineProcessor({
  type: "stamp",
  create: () => eachRecord((record) => void record.attributes.set("stamp", value)),
});
`,
    );
    const agent = await run(
      folder,
      `
plugins: [./plugin.mjs]
receivers: {otlp: {protocols: {http: {endpoint: "127.0.0.1:${port}"}}}}
processors: {stamp: {}}
service:
  extensions: [reliability]
  telemetry: {metrics: {level: none}}
  pipelines: {logs: {receivers: [otlp], processors: [stamp], exporters: [debug]}}
`,
    );
    const post = async () => {
      const logRecords = [{ body: { stringValue: "r" } }];
      await fetch(`http://127.0.0.1:${port}/v1/logs`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] }),
      });
      return `${agent.output.stdout}${agent.output.stderr}`;
    };
    await expect.poll(post).toContain("first");
    writeFileSync(join(folder, "value.mjs"), 'export const value = "second";');
    await expect.poll(post).toContain("second");
    expect(agent.output.stderr).toContain("replace processor stamp");
  });

  it("replaces a receiver whose certificate has changed, although its config has not", async () => {
    const folder = temporaryFolder();
    const port = await freePort();
    const install = (name: string) => {
      copyFileSync(join(certificates, `${name}.key`), join(folder, "tls.key"));
      copyFileSync(join(certificates, `${name}.crt`), join(folder, "tls.crt"));
    };
    install("server");
    const agent = await run(
      folder,
      `
receivers:
  otlp: {protocols: {http: {endpoint: "127.0.0.1:${port}", tls: {cert_file: ./tls.crt, key_file: ./tls.key}}}}
  otlp/other: {protocols: {http: {endpoint: "127.0.0.1:${await freePort()}"}}}
service:
  extensions: [reliability]
  telemetry: {metrics: {level: none}}
  pipelines: {logs: {receivers: [otlp, otlp/other], exporters: [debug]}}
`,
    );
    const serial = () =>
      new Promise<string>((resolve, reject) => {
        const socket = connect({ port, host: "127.0.0.1", rejectUnauthorized: false }, () => {
          resolve(socket.getPeerCertificate().serialNumber);
          socket.destroy();
        }).on("error", reject);
      });
    const before = await serial();
    install("rsa");
    await expect.poll(serial).not.toBe(before);
    expect(agent.output.stderr).toContain("replace receiver otlp");
    expect(agent.output.stderr).not.toContain("replace receiver otlp/other");
  });
});
