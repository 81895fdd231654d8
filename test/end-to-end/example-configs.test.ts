import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { startAgentProcess } from "../support/agent-process.js";
import { temporaryFolder } from "../support/temporary-folder.js";

const folder = join(import.meta.dirname, "../../config");
const configs = readdirSync(folder).filter((file) => file.endsWith(".yaml"));

describe.each(configs)("config/%s", (name) => {
  it("starts, answers OTLP and stops", async () => {
    const file = join(folder, name);
    const { protocols } = (parse(readFileSync(file, "utf8")) as { receivers: { otlp: { protocols: object } } })
      .receivers.otlp;
    const args = Object.keys(protocols).flatMap((protocol) => [
      "--set",
      `receivers.otlp.protocols.${protocol}.endpoint=127.0.0.1:0`,
    ]);
    args.push("--set", "service.telemetry.metrics.level=none");
    const archive = join(temporaryFolder(), "logs.jsonl");
    const agent = await startAgentProcess(
      { file },
      { args, env: { ARCHIVE: archive, PII_KEY: "a key for the hashes of this test" } },
    );
    const response = await fetch(`http://127.0.0.1:${agent.ports.http}/v1/logs`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: "{}",
    });
    expect(response.status).toBe(200);
    agent.child.kill("SIGTERM");
    expect(await agent.exited).toBe(0);
  });
});
