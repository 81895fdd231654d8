import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { read, TLS_FILES } from "../runtime/net/tls/files.js";
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
    const [archive, tokens] = [join(temporaryFolder(), "logs.jsonl"), join(temporaryFolder(), "tokens")];
    writeFileSync(tokens, "a token\nanother-token\n");
    const env = {
      ARCHIVE: archive,
      PII_KEY: "a key for the hashes of this test",
      TLS_CERT: TLS_FILES.serverCert,
      TLS_KEY: TLS_FILES.serverKey,
      CLIENT_TOKENS: tokens,
    };
    const agent = await startAgentProcess({ file }, { args, env });
    const { tls, auth } = (protocols as { http: { tls?: unknown; auth?: unknown } }).http ?? {};
    const status = (headers: object) => post(agent.ports.http, tls !== undefined, headers);
    if (auth !== undefined) expect(await status({})).toBe(401);
    expect(await status({ authorization: "Bearer another-token" })).toBe(200);
    expect(agent.output.stderr).not.toContain("open_listener");
    agent.child.kill("SIGTERM");
    expect(await agent.exited).toBe(0);
  });
});

function post(port: number, isSecure: boolean, headers: object): Promise<number> {
  const send = isSecure ? httpsRequest : httpRequest;
  const options = { host: "127.0.0.1", port, path: "/v1/logs", method: "POST", ca: read(TLS_FILES.ca) };
  return new Promise((resolve, reject) => {
    const type = { "content-type": "application/json" };
    const request = send({ ...options, headers: { ...type, ...headers } }, (response) => {
      response.resume().on("end", () => resolve(response.statusCode!));
    });
    request.on("error", reject).end("{}");
  });
}
