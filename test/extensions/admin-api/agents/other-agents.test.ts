import { writeFileSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import { createServer as createSecureServer } from "node:https";
import { type AddressInfo, createServer as createTcpServer, type Server } from "node:net";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { adminApi } from "../../../../src/extensions/admin-api/component.js";
import type { OtherAgent } from "../../../../src/runtime/contract/api/answers.js";
import { read, TLS_FILES } from "../../../runtime/net/tls/files.js";
import { deadLetter } from "../../../runtime/queue/operate/controls.js";
import { temporaryFolder } from "../../../support/temporary-folder.js";
import { startApi } from "../harness.js";
import { differences, document, resolved } from "../openapi-document.js";

interface DescribedAnswer {
  readonly content: { readonly "application/json": { readonly schema: Record<string, unknown> } };
}

const TOKEN = "token-of-the-other-agent";

async function listening(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A server in the place of an agent. */
async function impostor(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  onTestFinished(() => server.closeAllConnections());
  return listening(server);
}

const agentJson = { name: "sluice", version: "1", state: "ready", startedAt: "2026-01-01T00:00:00Z", generation: "ab" };

function exporterJson(state: string, breaker: string) {
  return {
    state,
    paused: false,
    breaker: { state: breaker },
    queue: { entries: 2, bytes: 30 },
    deadLetters: { entries: 5 },
  };
}

/** An agent that answers as the test says. */
function scripted(exporters: readonly object[], agent: object = {}): RequestListener {
  return ({ url }, response) => {
    const body = url?.endsWith("/agent") ? { ...agentJson, ...agent } : { exporters };
    response.end(JSON.stringify(body));
  };
}

async function listed(agents: readonly object[]): Promise<readonly OtherAgent[]> {
  const api = await startApi({ endpoint: "127.0.0.1:0", agents });
  let rows: readonly OtherAgent[] = [];
  await expect
    .poll(async () => {
      const { status, body } = await api.ask("GET", "/agents");
      expect(status).toBe(200);
      rows = body.agents;
      return rows.map(({ state }) => state);
    })
    .not.toContain("WAITING");
  return rows;
}

describe("the agents of a console", () => {
  it("are listed with their exporters, breakers, dead letters and generation", async () => {
    const exporters = [
      exporterJson("UP", "closed"),
      exporterJson("DOWN", "open"),
      exporterJson("DEGRADED", "half_open"),
    ];
    const url = await impostor(scripted(exporters, { generationNumber: 3 }));
    const [row] = await listed([{ name: "b", url, console_url: "https://b.example" }]);
    expect(row).toMatchObject({
      name: "b",
      consoleUrl: "https://b.example/",
      state: "DOWN",
      agent: { generation: "ab", generationNumber: 3, version: "1" },
      exporters: {
        total: 3,
        degraded: 1,
        down: 1,
        openBreakers: 1,
        halfOpenBreakers: 1,
        deadLetters: 15,
        queuedBytes: 90,
      },
    });
    const answer = resolved(document.paths["/agents"]!["get"]!.responses!["200"]!) as unknown as DescribedAnswer;
    const { schema } = answer.content["application/json"];
    expect(differences({ agents: [row] }, schema)).toEqual([]);
  });

  it("are read from real agents, with a token from the config or from a file that may change", async () => {
    const other = await startApi({ endpoint: "127.0.0.1:0", tokens: [{ name: "b", token: TOKEN, roles: ["view"] }] });
    await deadLetter(other.a);
    const url = new URL(other.url).origin;
    const file = join(temporaryFolder(), "token");
    writeFileSync(file, "the-wrong-token-at-first\n");
    const agents = [
      { name: "by token", url, token: TOKEN },
      { name: "by file", url, token_file: file },
      { name: "without", url },
    ];
    // The harness has no components, so /agent is unavailable there: what counts is who is let in.
    const rows = await listed(agents);
    expect(rows.map(({ state, problem }) => [state, problem])).toEqual([
      ["UNREACHABLE", expect.stringContaining("503")],
      ["DENIED", expect.stringContaining("401")],
      ["DENIED", expect.stringContaining("401")],
    ]);
    expect(JSON.stringify(rows)).not.toContain(TOKEN);
    writeFileSync(file, `${TOKEN}\n`);
    expect((await listed([agents[1]!])).map(({ state }) => state)).toEqual(["UNREACHABLE"]);
  });

  it("are listed as unreachable, denied or invalid if they are down, slow or hostile, and hurt nobody", async () => {
    let redirected = 0;
    const target = await impostor((_, response) => {
      redirected += 1;
      scripted([])(_, response);
    });
    const silent = createTcpServer(() => {});
    const agents = {
      gone: "http://127.0.0.1:9",
      silent: await listening(silent),
      redirect: await impostor((_, response) => response.writeHead(302, { location: `${target}/api/v1/agent` }).end()),
      html: await impostor((_, response) => response.end("<html><script>alert(1)</script></html>")),
      huge: await impostor((_, response) => {
        const write = () => {
          while (!response.destroyed && response.write("[".repeat(65_536)));
        };
        response.on("drain", write).on("error", () => {});
        write();
      }),
      many: await impostor((_, response) => response.end(`[${"[],".repeat(30_000)}[]]`)),
      wrong: await impostor(scripted([{ state: "FINE" }])),
      numbers: await impostor(scripted([{ ...exporterJson("UP", "closed"), queue: { entries: -1, bytes: "many" } }])),
      cut: await impostor((_, response) => {
        response.writeHead(200, { "content-length": 100 });
        response.write('{"name":');
        setImmediate(() => response.destroy());
      }),
      upgrade: await listening(
        createTcpServer((socket) => {
          socket.on("error", () => {});
          socket.write("HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n");
        }),
      ),
      hangs_up: await listening(createTcpServer((socket) => void socket.on("data", () => socket.end()))),
      drips: await impostor((_, response) => {
        const timer = setInterval(() => response.write(" "), 50);
        response.on("close", () => clearInterval(timer));
      }),
      tls: (await impostor(scripted([]))).replace("http:", "https:"),
    };
    const rows = await listed(Object.entries(agents).map(([name, url]) => ({ name, url })));
    expect(Object.fromEntries(rows.map(({ name, state }) => [name, state]))).toEqual({
      gone: "UNREACHABLE",
      silent: "UNREACHABLE",
      redirect: "INVALID",
      html: "INVALID",
      huge: "INVALID",
      many: "INVALID",
      wrong: "INVALID",
      numbers: "INVALID",
      cut: "INVALID",
      upgrade: "INVALID",
      hangs_up: "UNREACHABLE",
      drips: "UNREACHABLE",
      tls: "UNREACHABLE",
    });
    expect(redirected).toBe(0);
    expect(rows.find(({ name }) => name === "silent")?.problem).toBe("no answer in time");
    for (const { problem } of rows) expect(problem!.length).toBeLessThan(400);
  });

  it("cuts long texts, and shares one answer between all who look", async () => {
    let asked = 0;
    const url = await impostor((request, response) => {
      asked += 1;
      scripted([], { name: "n".repeat(10_000), version: "<b>1</b>" })(request, response);
    });
    const api = await startApi({ endpoint: "127.0.0.1:0", agents: [{ name: "b", url }] });
    const answers = await Promise.all(Array.from({ length: 20 }, () => api.ask("GET", "/agents")));
    expect(asked).toBe(2);
    expect(answers[0]!.body.agents[0].agent).toMatchObject({ name: "n".repeat(200), version: "<b>1</b>" });
  });

  it("are believed only if a trusted certificate names them, also behind a name with several addresses", async () => {
    const files = { cert: read(TLS_FILES.serverCert), key: read(TLS_FILES.serverKey) };
    const server = createSecureServer(files, scripted([]));
    const url = (await listening(server)).replace("http:", "https:").replace("127.0.0.1", "localhost");
    const tls = { ca_file: TLS_FILES.ca };
    const rows = await listed([
      { name: "trusted", url, tls },
      { name: "by dns", url, tls, dns: true },
      { name: "untrusted", url },
      { name: "misnamed", url, tls: { ...tls, server_name_override: "other.example" } },
    ]);
    const found = Object.fromEntries(rows.map(({ name, state }) => [name, state]));
    expect(found).toMatchObject({
      trusted: "UP",
      "by dns 127.0.0.1": "UP",
      untrusted: "UNREACHABLE",
      misnamed: "UNREACHABLE",
    });
    expect(rows.find(({ name }) => name === "untrusted")?.problem).toMatch(/certificate/);
  });

  it("are found by DNS, each address once", async () => {
    const url = await impostor(scripted([]));
    const rows = await listed([
      { name: "here", url: url.replace("127.0.0.1", "localhost"), dns: true },
      { name: "nowhere", url: "http://nosuch.invalid:55679", dns: true },
    ]);
    const found = rows.find(({ name }) => name === "here 127.0.0.1");
    expect(found).toMatchObject({ state: "UP", consoleUrl: `${url}/` });
    expect(rows.find(({ name }) => name === "nowhere")).toMatchObject({
      state: "UNREACHABLE",
      problem: expect.any(String),
    });
  });

  it("must be named by addresses without anything else in them", () => {
    const wrong = [
      { name: "a", url: "http://user:pass@10.0.0.1" },
      { name: "a", url: "http://10.0.0.1/path" },
      { name: "a", url: "http://10.0.0.1/?query" },
      { name: "a", url: "file:///etc/passwd" },
      { name: "a", url: "http://10.0.0.1", token: "x", token_file: "y" },
      { name: "a", url: "http://10.0.0.1", console_url: "javascript:alert(1)" },
      { name: "a", url: "http://sluice", dns: true, console_url: "http://other" },
    ];
    for (const agent of wrong)
      expect([agent, adminApi.schema.safeParse({ agents: [agent] }).success]).toEqual([agent, false]);
    const twice = [1, 2].map(() => ({ name: "a", url: "http://10.0.0.1" }));
    expect(adminApi.schema.safeParse({ agents: twice }).success).toBe(false);
    const many = Array.from({ length: 101 }, (_, i) => ({ name: String(i), url: "http://10.0.0.1" }));
    expect(adminApi.schema.safeParse({ agents: many }).success).toBe(false);
  });
});
