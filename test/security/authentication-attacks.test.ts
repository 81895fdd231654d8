import { createHmac } from "node:crypto";
import { writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { hashSync } from "bcryptjs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { otherRsa, rsa, startIssuer, token } from "../extensions/auth/oidc/issuer.js";
import { basic, bearer } from "../extensions/auth/requests.js";
import { type AgentProcess, startAgentProcess } from "../support/agent-process.js";
import { temporaryFolder } from "../support/temporary-folder.js";

const PASSWORD = "correct horse battery";

/** An agent whose only door has this lock, with all that it says logged. */
async function locked(extension: string, config: string): Promise<AgentProcess> {
  const agent = await startAgentProcess({
    yaml: `
receivers: {otlp: {protocols: {http: {endpoint: 127.0.0.1:0, include_metadata: true, auth: {authenticator: ${extension}}}}}}
exporters: {nop: {}}
extensions: {${extension}: ${config}, health_check: {endpoint: 127.0.0.1:0}, admin: {endpoint: 127.0.0.1:0}}
service:
  extensions: [${extension}, health_check, admin]
  telemetry: {metrics: {level: none}, logs: {level: debug}}
  pipelines: {logs: {receivers: [otlp], exporters: [nop]}}
`,
  });
  started.push(agent);
  return agent;
}

const started: AgentProcess[] = [];
afterAll(async () => {
  for (const { child, exited } of started) {
    child.kill("SIGTERM");
    await exited;
  }
});

async function post(agent: AgentProcess, headers: Record<string, string>): Promise<number> {
  const url = `http://127.0.0.1:${agent.ports.http}/v1/logs`;
  const body = '{"resourceLogs":[{"scopeLogs":[{"logRecords":[{}]}]}]}';
  const answer = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body,
  });
  await answer.arrayBuffer();
  return answer.status;
}

function raw(agent: AgentProcess, ...lines: string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(agent.ports.http, "127.0.0.1");
    socket.on("error", reject).once("data", (answer) => {
      resolve(answer.toString("latin1").split("\r\n", 1)[0]!);
      socket.destroy();
    });
    const head = ["POST /v1/logs HTTP/1.1", "Host: x", "Content-Type: application/json", "Content-Length: 2", ...lines];
    socket.write(`${head.join("\r\n")}\r\n\r\n{}`);
  });
}

function healthOf(agent: AgentProcess): string {
  const line = agent.output.stderr.split("\n").find((text) => text.includes("health check is listening"))!;
  return `http://${(JSON.parse(line) as { endpoint: string }).endpoint}/`;
}

describe("an agent whose passwords are guessed", () => {
  it("continues to serve known clients, answers health checks, and reveals nothing about failed logins", async () => {
    const file = join(temporaryFolder(), "htpasswd");
    writeFileSync(file, `joe:${hashSync(PASSWORD, 6)}\n`);
    const agent = await locked("basicauth", `{htpasswd: {file: ${file}}}`);
    const good = basic("joe", PASSWORD);
    expect(await post(agent, good)).toBe(200);
    const guesses = Array.from({ length: 200 }, (_, n) => basic(n % 2 ? "joe" : `nobody${n}`, `guess-number-${n}`));
    const guessed = Promise.all(guesses.map((headers) => post(agent, headers)));
    for (let n = 0; n < 20; n++) {
      expect(await post(agent, good)).toBe(200);
      expect((await fetch(healthOf(agent))).status).toBe(200);
    }
    const statuses = new Set(await guessed);
    expect([...statuses].every((status) => status === 401 || status === 503)).toBe(true);
    expect(await post(agent, basic("joe", "one more"))).toBe(503);
    const printed = agent.output.stderr + agent.output.stdout;
    expect(printed).toContain("a client was not authenticated");
    for (const secret of [PASSWORD, "guess-number", ...Object.values(good), ...Object.values(guesses[0]!)]) {
      expect(printed).not.toContain(secret);
    }
  });
});

describe("an agent whose tokens are guessed", () => {
  let agent: AgentProcess;
  beforeAll(async () => {
    agent = await locked("bearertokenauth", "{token: right-token}");
  });

  it.each([
    ["two headers, the right one first", ["Authorization: Bearer right-token", "Authorization: Bearer wrong"], "401"],
    ["two headers, the right one last", ["authorization: Bearer wrong", "Authorization: Bearer right-token"], "401"],
    ["a header with a blank in its name", ["Authorization : Bearer right-token"], "400"],
    ["a folded header", ["Authorization: Bearer", " right-token"], "400"],
    ["the token behind another scheme", ["Authorization: Basic right-token"], "401"],
    ["a token of 12 KB", [`Authorization: Bearer ${"x".repeat(12_000)}`], "401"],
    ["a token of 100 KB", [`Authorization: Bearer ${"x".repeat(100_000)}`], "431"],
    ["a beginning of the token", ["Authorization: Bearer right"], "401"],
    ["nothing", [], "401"],
    ["the token", ["Authorization: Bearer right-token"], "200"],
  ])("answers %s as it should", async (_, lines, status) => {
    expect(await raw(agent, ...lines)).toContain(` ${status} `);
    expect(agent.output.stderr).not.toContain("right-token");
  });
});

describe("an agent that is shown made-up JWTs", () => {
  it("lets in those that the issuer signed, and asks it for keys no more often than it should", async () => {
    const key = rsa("main");
    const issuer = await startIssuer(key);
    const agent = await locked("oidc", `{issuer_url: "${issuer.url}", audience: telemetry}`);
    const exp = Math.floor(Date.now() / 1000) + 600;
    const claims = (more: object = {}) => ({ iss: issuer.url, aud: "telemetry", sub: "joe", exp, ...more });
    const right = token(key, claims());
    expect(await post(agent, bearer(right))).toBe(200);
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
    const confused = `${part({ alg: "HS256", kid: "main" })}.${part(claims({ sub: "root" }))}`;
    const publicKey = key.publicKey.export({ type: "spki", format: "pem" });
    const hmac = createHmac("sha256", publicKey).update(confused).digest("base64url");
    const [, body] = token(key, claims({ sub: "root" })).split(".");
    const forged = [
      `${confused}.${hmac}`,
      `${part({ alg: "none", kid: "main" })}.${part(claims())}.`,
      `${right.split(".")[0]}.${body}.${right.split(".")[2]}`,
      token(key, claims({ exp: exp - 3600 })),
      token(otherRsa("main"), claims()),
    ];
    for (const shown of forged) expect(await post(agent, bearer(shown))).toBe(401);
    const other = otherRsa("x");
    const flood = Array.from({ length: 100 }, (_, n) => token({ ...other, id: `kid-${n}` }, claims({ n })));
    for (const status of await Promise.all(flood.map((shown) => post(agent, bearer(shown))))) {
      expect([401, 503]).toContain(status);
    }
    expect(issuer.fetches).toBeLessThanOrEqual(2);
    issuer.down = true;
    expect(await post(agent, bearer(right))).toBe(200);
    const printed = agent.output.stderr + agent.output.stdout;
    for (const shown of [right, ...forged, flood[0]!]) expect(printed).not.toContain(shown);
  });
});
