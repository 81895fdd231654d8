import { mkdtemp, rm } from "node:fs/promises";
import { createServer, Agent as HttpAgent, request } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { reliability } from "../../../../src/extensions/reliability/component.js";
import { defineProcessor, eachBatch } from "../../../../src/plugin.js";
import type { Agent } from "../../../../src/runtime/host/agent.js";
import { agentOf, resolve } from "../../../support/agent.js";

/** A backend that notes the bodies of all log records, and can be down. */
export interface Backend {
  readonly port: number;
  readonly seen: Map<string, number>;
  isDown: boolean;
  /** Refuses everything for good. */
  refuses: boolean;
  close(): Promise<void>;
}

export async function startBackend(): Promise<Backend> {
  const seen = new Map<string, number>();
  const backend = { seen, isDown: false, refuses: false };
  const server = createServer((incoming, answer) => {
    const chunks: Buffer[] = [];
    incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
    incoming.on("end", () => {
      if (backend.isDown) return void answer.writeHead(503).end();
      if (backend.refuses) return void answer.writeHead(400).end();
      const text = Buffer.concat(chunks).toString("latin1");
      for (const [id] of text.matchAll(/record-\d+-\d+/g)) seen.set(id, (seen.get(id) ?? 0) + 1);
      answer.writeHead(200, { "content-type": "application/x-protobuf" }).end();
    });
  });
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
  const { port } = server.address() as AddressInfo;
  const close = () =>
    new Promise<void>((closed) => {
      server.close(() => closed());
      server.closeAllConnections();
    });
  return Object.assign(backend, { port, close });
}

/** Clients that send one record after the other over kept connections, as SDKs do. */
export class Clients {
  readonly acknowledged = new Set<string>();
  /** Connections that were refused or reset. */
  readonly broken: string[] = [];
  refused = 0;
  private readonly agents: HttpAgent[] = [];
  private isStopped = false;
  private readonly loops: Promise<void>[];

  constructor(port: number, count: number) {
    this.loops = Array.from({ length: count }, (_, client) => this.run(port, client));
  }

  async stop(): Promise<void> {
    this.isStopped = true;
    await Promise.all(this.loops);
    for (const agent of this.agents) agent.destroy();
  }

  private async run(port: number, client: number): Promise<void> {
    const agent = new HttpAgent({ keepAlive: true, maxSockets: 1 });
    this.agents.push(agent);
    for (let i = 0; !this.isStopped; i++) {
      const id = `record-${client}-${i}`;
      try {
        const status = await post(port, agent, id);
        if (status === 200) this.acknowledged.add(id);
        else this.refused += 1;
      } catch (error) {
        this.broken.push(`${(error as NodeJS.ErrnoException).code} ${(error as Error).message}`);
      }
    }
  }
}

function post(port: number, agent: HttpAgent, id: string): Promise<number> {
  const logRecords = [{ body: { stringValue: id } }];
  const body = JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] });
  return new Promise((answered, failed) => {
    const sending = request(
      {
        ...{ port, agent, method: "POST", host: "127.0.0.1", path: "/v1/logs" },
        headers: { "content-type": "application/json", "content-length": Buffer.byteLength(body) },
      },
      (response) => {
        response.resume();
        response.on("end", () => answered(response.statusCode!));
        response.on("error", failed);
      },
    );
    sending.on("error", failed);
    sending.end(body);
  });
}

/** A processor like those of plugins: it passes everything on, and fails to be made if its config says so. */
const moody = defineProcessor({
  type: "moody",
  schema: z.strictObject({ fails: z.boolean().default(false), note: z.number().default(0) }),
  create({ fails }) {
    if (fails) throw new Error("this version does not start");
    return eachBatch((batch) => batch);
  },
});

const COMPONENTS = [reliability, moody];

/** The parts of a random config. */
export interface Shape {
  readonly bodyMiB: number;
  readonly note: number;
  readonly fails: boolean;
  readonly hasSecondExporter: boolean;
  readonly consumers: number;
  readonly timeout: number;
  readonly hasTail: boolean;
  readonly path: number;
  readonly takenPort: number | undefined;
}

export class Scene {
  readonly backend: Backend;
  readonly directory: string;
  readonly port: number;
  agent!: Agent;

  private constructor(backend: Backend, directory: string, port: number) {
    this.backend = backend;
    this.directory = directory;
    this.port = port;
  }

  static async start(shape: Shape): Promise<Scene> {
    const backend = await startBackend();
    const directory = await mkdtemp(join(tmpdir(), "sluice-reload-"));
    const probe = await startBackend();
    const { port } = probe;
    await probe.close();
    const scene = new Scene(backend, directory, port);
    scene.agent = agentOf(scene.yaml(shape), { components: COMPONENTS });
    await scene.agent.start();
    return scene;
  }

  /** Whether the new config runs. */
  async reload(shape: Shape): Promise<boolean> {
    try {
      await this.agent.reload(resolve(this.yaml(shape), COMPONENTS));
      return true;
    } catch (error) {
      if ((error as { problems?: unknown }).problems === undefined) throw error;
      return false;
    }
  }

  async close(): Promise<void> {
    await this.agent.stop(5000);
    await this.backend.close();
    await rm(this.directory, { recursive: true, force: true });
  }

  yaml(shape: Shape): string {
    const { bodyMiB, note, fails, hasSecondExporter, consumers, timeout, hasTail, path, takenPort } = shape;
    const exporters = ["otlp_http/a", ...(hasSecondExporter ? ["otlp_http/b"] : [])];
    const second = `
  otlp_http/b: {endpoint: "http://127.0.0.1:${this.backend.port}/b", compression: none}`;
    const receivers = ["otlp", ...(takenPort === undefined ? [] : ["otlp/taken"])];
    const taken = `
  otlp/taken: {protocols: {http: {endpoint: "127.0.0.1:${takenPort}"}}}`;
    return `
receivers:
  otlp: {protocols: {http: {endpoint: "127.0.0.1:${this.port}", max_request_body_size: ${bodyMiB * 1048576}}}}${takenPort === undefined ? "" : taken}
processors:
  moody: {note: ${note}, fails: ${fails}}
  batch: {timeout: 20ms}
exporters:
  otlp_http/a:
    endpoint: "http://127.0.0.1:${this.backend.port}/${path}"
    compression: none
    timeout: ${timeout}s
    sending_queue: {num_consumers: ${consumers}}
    retry_on_failure: {initial_interval: 10ms, max_interval: 50ms}${hasSecondExporter ? second : ""}
extensions: {reliability: {directory: ${JSON.stringify(this.directory)}, durability: process}}
service:
  extensions: [reliability]
  telemetry: {metrics: {level: none}}
  pipelines:
    logs: {receivers: [${receivers.join(", ")}], processors: [${hasTail ? "moody, batch" : "moody"}], exporters: [${exporters.join(", ")}]}
`;
  }
}
