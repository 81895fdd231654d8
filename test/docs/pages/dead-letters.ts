import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { adminToken, startAgentProcess } from "../../support/agent-process.js";
import { startSink } from "../../support/otlp-sink.js";
import { blocksIn, type Page } from "../pages.js";

/** Asks an agent with an admin API what the page asks with curl; its other commands are read as those of all pages. */
export function deadLetters(page: Page): void {
  it("asks the API for what it answers", async () => {
    const asked = blocksIn(page, "sh").filter((text) => text.startsWith("curl"));
    const commands = asked.flatMap((text) => text.trim().split("\n"));
    expect(commands).toHaveLength(7);
    const sink = await startSink();
    const agent = await startAgentProcess({
      yaml: `receivers: {otlp: {protocols: {http: {endpoint: "127.0.0.1:0"}}}}
exporters: {otlp_http: {endpoint: "${sink.url}"}}
extensions: {admin: {endpoint: "127.0.0.1:0"}, health_check: {endpoint: "127.0.0.1:0"}}
service: {telemetry: {metrics: {level: none}}, pipelines: {logs: {receivers: [otlp], exporters: [otlp_http]}}}
`,
    });
    try {
      const [, endpoint] = /"endpoint":"(127\.0\.0\.1:\d+)","msg":"admin API is listening"/.exec(agent.output.stderr)!;
      const env = { ...process.env, SLUICE_ADMIN_TOKEN: await adminToken(`http://${endpoint}`) };
      for (const command of commands) {
        const here = command.replace("127.0.0.1:55679", endpoint!).replace("curl -s", "curl -sS --fail-with-body");
        const { stdout } = await promisify(execFile)("bash", ["-c", here], { env });
        expect(() => JSON.parse(stdout)).not.toThrow();
      }
    } finally {
      agent.child.kill("SIGTERM");
      await agent.exited;
      await sink.close();
    }
  });
}
