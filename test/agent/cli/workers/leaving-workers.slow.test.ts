import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { Agent, request } from "node:http";
import { connect } from "node:net";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { freePort } from "../../../../src/agent/testing/free-port.js";
import { type AgentProcess, adminToken, startAgentProcess } from "../../../support/agent-process.js";
import { temporaryFolder } from "../../../support/temporary-folder.js";

const CLIENTS = 20;
const BODY = JSON.stringify({
  resourceLogs: [{ scopeLogs: [{ logRecords: [{ body: { stringValue: "a record" } }] }] }],
});

interface Place {
  readonly file: string;
  readonly admin: string;
}

function configure(place: Place, workers: number): void {
  writeFileSync(
    place.file,
    `
receivers: {otlp: {protocols: {http: {endpoint: "127.0.0.1:0"}}}}
exporters: {debug: {verbosity: basic, sending_queue: {enabled: true}}}
extensions:
  reliability: {directory: ./queue}
  admin: {endpoint: "${new URL(place.admin).host}", token_file: ./token}
service:
  workers: ${workers}
  pipelines: {logs: {receivers: [otlp], exporters: [debug]}}`,
  );
}

async function newPlace(workers: number): Promise<Place> {
  const place = { file: join(temporaryFolder(), "sluice.yaml"), admin: `http://127.0.0.1:${await freePort()}` };
  configure(place, workers);
  return place;
}

async function start({ file }: Place): Promise<AgentProcess> {
  const agent = await startAgentProcess({ file }, { cwd: join(file, "..") });
  onTestFinished(async () => {
    agent.child.kill("SIGTERM"); // its workers end before it does
    await agent.exited;
  });
  return agent;
}

async function workersOf({ admin }: Place): Promise<readonly { readonly pid: number; readonly state: string }[]> {
  const headers = { authorization: `Bearer ${await adminToken(admin)}` };
  return ((await (await fetch(`${admin}/api/v1/workers`, { headers })).json()) as never)["workers"];
}

/** Sends requests one after the other on connections that are kept, until told to stop. */
class Client {
  readonly results: (number | string)[] = [];
  private readonly agent = new Agent({ keepAlive: true, maxSockets: 1 });
  private isStopping = false;
  private readonly ended: Promise<void>;

  constructor(port: number) {
    this.ended = this.run(port);
  }

  stop(): Promise<void> {
    this.isStopping = true;
    return this.ended.finally(() => this.agent.destroy());
  }

  private async run(port: number): Promise<void> {
    while (!this.isStopping) this.results.push(await this.send(port));
  }

  private send(port: number): Promise<number | string> {
    const headers = { "content-type": "application/json" };
    return new Promise((resolve) => {
      const sent = request({ port, path: "/v1/logs", method: "POST", headers, agent: this.agent }, (response) => {
        response.resume().on("end", () => resolve(response.statusCode!));
      });
      sent.on("error", (error: NodeJS.ErrnoException) => resolve(`${error.code}: ${error.message}`));
      sent.end(BODY);
    });
  }
}

describe("a worker that leaves", () => {
  it("answers all requests on connections that are kept, while their number changes", async () => {
    const place = await newPlace(2);
    const agent = await start(place);
    const clients = Array.from({ length: CLIENTS }, () => new Client(agent.ports.http));
    for (const count of [3, 1]) {
      const before = clients.map(({ results }) => results.length);
      configure(place, count);
      agent.child.kill("SIGHUP");
      const states = async () => (await workersOf(place)).map(({ state }) => state);
      await expect.poll(states).toEqual(Array.from({ length: count }, () => "ready"));
      await expect.poll(() => clients.every(({ results }, i) => results.length > before[i]! + 1)).toBe(true);
    }
    await Promise.all(clients.map((client) => client.stop()));
    const results = clients.flatMap((client) => client.results);
    const unanswered = results.filter((result) => result !== 200 && result !== 503); // 503: retryable
    expect(unanswered).toEqual([]);
  });
});

describe.runIf(process.platform === "linux")("a worker that is stopped with SIGSTOP when its parent is killed", () => {
  it("is named by the next start, and reports no bug when it continues", async () => {
    const place = await newPlace(2);
    const agent = await start(place);
    const [worker] = await workersOf(place);
    const pid = worker!.pid;
    onTestFinished(() => {
      try {
        process.kill(pid, "SIGKILL");
      } catch {} // it has ended
    });
    process.kill(pid, "SIGSTOP");
    // The parent sends some of these to the stopped worker, which will tell it too late that it has taken them.
    const sockets = Array.from({ length: 8 }, () => connect(agent.ports.http, "127.0.0.1").on("error", () => {}));
    await Promise.all(sockets.map((socket) => once(socket, "connect")));
    onTestFinished(() => {
      for (const socket of sockets) socket.destroy();
    });
    await fetch(`${place.admin}/api/v1`);
    agent.child.kill("SIGKILL");
    await agent.exited;
    const next = await start(place).catch((error: Error) => error.message);
    expect(next).toContain(`is in use by process ${pid}`);
    expect(next).toContain(`kill -CONT ${pid}`);
    process.kill(pid, "SIGCONT");
    await expect.poll(() => agent.child.stderr!.readableEnded).toBe(true);
    expect(agent.output.stderr).not.toContain("bug in Sluice");
  });
});
