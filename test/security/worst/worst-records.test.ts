import { createHash } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { SIGNALS, type Signal } from "../../../src/plugin.js";
import { compress } from "../../../src/runtime/codecs/compression/door.js";
import { JAEGER_GRPC_PATH } from "../../../src/runtime/traces/jaeger-proto.js";
import { GrpcJsServer } from "../../exporters/grpc-server.js";
import { type AgentProcess, adminToken, startAgentProcess } from "../../support/agent-process.js";
import { TEST_LIMIT_MS } from "../../support/limits.js";
import { seededRandom } from "../../support/sampled.js";
import { WORST_STAGES, type WorstCase } from "./components.js";
import { WORST_EXPORTERS } from "./exporters.js";
import { WORST_RECEIVERS, type WorstReceiver } from "./receivers.js";
import { WORST_REQUESTS } from "./requests.js";
import { hasSchedulerStatistics, MAX_TURN_MS, meteredEnv, TurnMeter } from "./turn-meter.js";

/** Of an agent with one component. A single hostile request took it to 4 GiB before. */
const MAX_PEAK_MIB = 1000;

/**
 * `npm run test:security` gives every component every request. Other runs give each component a third of them, chosen by
 * a seed: WORST_SEED repeats a choice, WORST_RECORDS=all takes all.
 */
const isWhole = process.env["npm_lifecycle_event"] === "test:security" || process.env["WORST_RECORDS"] === "all";
const SHARE = isWhole ? 1 : 1 / 3;
const seed = Number(process.env["WORST_SEED"] ?? Math.floor(Math.random() * 1e9));
const chosenBy = isWhole ? "every request" : `a third of the requests, seed ${seed}`;

/** Each component gets up to thirty requests, several times if need be. */
const COMPONENT_LIMIT_MS = 5 * TEST_LIMIT_MS;

/** A request may be too large, but no answer may be a fault of the agent. */
const TAKEN_OR_REFUSED = new Set([200, 202, 204, 400, 413, 503]);

const prefixed = (cases: Readonly<Record<string, WorstCase>>) =>
  Object.fromEntries(Object.entries(cases).map(([name, one]) => [`the exporter ${name}`, one]));
const stages = { ...WORST_STAGES, ...prefixed(WORST_EXPORTERS) };

/** An agent with the component in a pipeline of each signal, and a receiver for each. */
function stageConfig(one: WorstCase): AgentConfig {
  const all = emptyConfig();
  for (const [number, signal] of (one.signals ?? SIGNALS).entries()) addCase(all, one, signal, number);
  return all;
}

function receiverConfig(id: string, { signals, config = { endpoint: "$ENDPOINT" } }: WorstReceiver): AgentConfig {
  const pipelines = signals.map((signal) => [signal, { receivers: [id], exporters: ["nop"] }]);
  return { ...emptyConfig(), receivers: { [id]: config }, pipelines: Object.fromEntries(pipelines) };
}

type AgentConfig = Record<"receivers" | "processors" | "exporters" | "connectors" | "pipelines", object>;

function emptyConfig(): AgentConfig {
  return { receivers: {}, processors: {}, exporters: { nop: {} }, connectors: {}, pipelines: {} };
}

function yamlOf({ pipelines, ...components }: AgentConfig, places: Readonly<Record<string, string>>): string {
  const extensions = {
    reliability: { directory: "$FOLDER/queue" },
    health_check: { endpoint: "127.0.0.1:0" },
    admin: { endpoint: "127.0.0.1:0" },
  };
  const telemetry = { metrics: { level: "none" } };
  const service = { extensions: Object.keys(extensions), telemetry, pipelines };
  let json = JSON.stringify({ ...components, extensions, service });
  for (const [name, place] of Object.entries(places)) json = json.replaceAll(name, place);
  return json;
}

function addCase(all: AgentConfig, one: WorstCase, signal: Signal, number: number): void {
  const { processor, exporter, connector, to = signal } = one;
  const receiver = `otlp/${number}`;
  Object.assign(all.receivers, { [receiver]: { protocols: { http: { endpoint: "127.0.0.1:0" } } } });
  const add = (section: keyof AgentConfig, component: object | undefined): string[] =>
    Object.entries(component ?? {}).map(([type, config]) => {
      const own = JSON.parse(
        JSON.stringify(config).replaceAll("$NUMBER", String(number)).replaceAll("$SIGNAL", signal),
      );
      Object.assign(all[section], { [`${type}/${number}`]: own });
      return `${type}/${number}`;
    });
  const processors = add("processors", processor);
  const connectors = add("connectors", connector);
  const exporters = [...add("exporters", exporter), ...connectors];
  const pipeline = { receivers: [receiver], processors, exporters: exporters.length > 0 ? exporters : ["nop"] };
  Object.assign(all.pipelines, { [`${signal}/${number}`]: pipeline });
  if (connectors.length > 0)
    Object.assign(all.pipelines, { [`${to}/${number}-out`]: { receivers: connectors, exporters: ["nop"] } });
}

/** Exporters are many, and what they send takes longer than everything else: a short run gives each of them one request. */
function shareOf({ exporter }: WorstCase): number {
  return exporter === undefined || isWhole ? SHARE : 0;
}

/** At least one of the requests, in the order in which they are written down. */
function chosenOf(requests: object, of: string, share = SHARE): string[] {
  const names = Object.keys(requests);
  const random = seededRandom(seed + createHash("sha256").update(of).digest().readUInt32LE());
  const shuffled = names.map((name) => ({ name, at: random() })).sort((a, b) => a.at - b.at);
  const chosen = new Set(shuffled.slice(0, Math.max(1, Math.ceil(names.length * share))).map(({ name }) => name));
  return names.filter((name) => chosen.has(name));
}

describe.runIf(hasSchedulerStatistics)(`the worst request a component can be given (${chosenBy})`, () => {
  const folder = mkdtempSync(join(tmpdir(), "sluice-worst-"));
  const file = join(folder, "longest-turn.json");
  let sink: Server;
  let grpc: GrpcJsServer;
  let jaeger: GrpcJsServer;
  let agent: AgentProcess | undefined;
  let meter: TurnMeter;

  beforeAll(async () => {
    sink = createServer((request, response) => {
      request.resume().on("end", () => {
        response.setHeader("content-type", "application/json");
        grpc.received.length = jaeger.received.length = 0;
        if (request.url?.includes("/token")) return void response.end('{"access_token":"t","expires_in":3600}');
        response.end(request.url?.includes("_bulk") ? '{"errors":false,"items":[]}' : "{}");
      });
    });
    await new Promise<void>((resolve) => void sink.listen(0, "127.0.0.1", resolve));
    grpc = await new GrpcJsServer().start();
    jaeger = await new GrpcJsServer({ traces: JAEGER_GRPC_PATH }).start();
  });

  afterEach(async () => {
    agent?.child.kill("SIGKILL");
    await agent?.exited;
    agent = undefined;
  });

  afterAll(() => {
    sink.close();
    grpc.kill();
    jaeger.kill();
    rmSync(folder, { recursive: true, force: true });
  });

  /** Starts an agent of its own for a component, so that no other one's garbage is collected in its turns. */
  async function start(config: AgentConfig): Promise<string> {
    const host = `127.0.0.1:${(sink.address() as AddressInfo).port}`;
    const yaml = yamlOf(config, {
      $SINK: `http://${host}`,
      $GRPC: `127.0.0.1:${grpc.port}`,
      $JAEGER: `127.0.0.1:${jaeger.port}`,
      $FOLDER: mkdtempSync(join(folder, "agent-")),
      $ENDPOINT: "127.0.0.1:0",
    });
    const keys = { AWS_ACCESS_KEY_ID: "id", AWS_SECRET_ACCESS_KEY: "secret", GCE_METADATA_HOST: host };
    agent = await startAgentProcess({ yaml }, { env: { ...keys, ...meteredEnv(file) } });
    agent.child.stdout!.removeAllListeners("data").resume(); // what the debug exporter prints
    meter = new TurnMeter(agent, file);
    return agent.output.stderr;
  }

  /** Sends a request and waits until everything is done that it has caused. Returns what is wrong. */
  async function wrongWith(
    name: string,
    send: () => Promise<number>,
    one: WorstCase = {},
  ): Promise<readonly unknown[]> {
    const { maxPeakMiB = MAX_PEAK_MIB, worksLaterMs = 0 } = one;
    let status = 0;
    const turns = await meter.worstOf(
      name,
      async () => {
        status = await send();
        await setTimeout(worksLaterMs);
        await meter.idle();
      },
      maxPeakMiB,
    );
    if (!TAKEN_OR_REFUSED.has(status)) return [[name, { status }]];
    return turns.longestMs < MAX_TURN_MS && turns.peakMiB < maxPeakMiB ? [] : [[name, turns]];
  }

  it.each([
    ["grows its record", Array.from({ length: 50 }, (_, i) => `set(attributes["${i % 2}"], attributes)`)],
    ["has a pattern that takes very long", ['replace_pattern(body, "(?:x|xx|xxx|xxxx){1,200}[yz]", "")']],
  ])("does not block on a trial of OTTL that %s", async (_, statements) => {
    const log = await start(stageConfig({ signals: ["logs"] }));
    const origin = `http://${logged("admin API is listening", log)[0]!["endpoint"]}`;
    const headers = { authorization: `Bearer ${await adminToken(origin)}`, "content-type": "application/json" };
    const attributes = [{ key: "k", value: { stringValue: "v".repeat(10_000) } }];
    const record = { body: { stringValue: "x".repeat(400_000) }, attributes };
    const body = JSON.stringify({ context: "log", statements, record });
    const turns = await meter.worstOf("a trial of OTTL", async () => {
      const answer = await fetch(`${origin}/api/v1/ottl`, { method: "POST", headers, body });
      expect([answer.status, await answer.text()]).toEqual([400, expect.stringMatching(/too (large|long)/)]);
    });
    expect(turns.longestMs).toBeLessThan(MAX_TURN_MS);
  });

  const bodies = new Map<string, Buffer>();
  const bodyOf = (signal: Signal, name: string) => {
    const known = bodies.get(signal + name) ?? gzipSync(WORST_REQUESTS[signal][name]!(), { level: 1 });
    bodies.set(signal + name, known);
    return known;
  };

  it.each(Object.entries(stages))(
    "does not block %s",
    async (of, one) => {
      const ports = listeningPorts(await start(stageConfig(one)));
      const wrong = [];
      for (const [number, signal] of (one.signals ?? SIGNALS).entries()) {
        const url = `http://${ports.get(`receiver otlp/${number}`)}/v1/${signal}`;
        const chosen = chosenOf(WORST_REQUESTS[signal], `${of} of ${signal}`, shareOf(one));
        for (const name of chosen.filter((each) => !one.except?.includes(each))) {
          const body = bodyOf(signal, name);
          const send = () => post(url, "application/x-protobuf", body);
          wrong.push(...(await wrongWith(`${of} of ${signal}, ${name}`, send, one)));
        }
      }
      expect(wrong).toEqual([]);
    },
    COMPONENT_LIMIT_MS,
  );

  it.each(Object.entries(WORST_RECEIVERS))(
    "does not block the receiver %s",
    async (id, receiver) => {
      const { listening, portKey = "port", path = "/", type = "application/json", encoding = "gzip" } = receiver;
      const port = logged(listening, await start(receiverConfig(id, receiver)))[0]![portKey]!;
      const url = `http://${port.includes?.(":") ? port : `127.0.0.1:${port}`}${path}`;
      const wrong = [];
      for (const name of chosenOf(receiver.requests, id)) {
        const plain = Buffer.from(receiver.requests[name]!());
        const body = receiver.isPacked ? plain : await compress(encoding, plain);
        wrong.push(...(await wrongWith(`receiver ${id}, ${name}`, () => post(url, type, body, encoding))));
      }
      expect(wrong).toEqual([]);
    },
    COMPONENT_LIMIT_MS,
  );
});

async function post(url: string, type: string, body: Uint8Array, encoding = "gzip"): Promise<number> {
  const headers = { "content-type": type, "content-encoding": encoding };
  const answer = await fetch(url, { method: "POST", headers, body: new Uint8Array(body) });
  await answer.arrayBuffer();
  return answer.status;
}

function listeningPorts(log: string): ReadonlyMap<string, string> {
  return new Map(logged("listening for OTLP", log).map(({ component, http }) => [component!, http!]));
}

function logged(message: string, log: string): Readonly<Record<string, string>>[] {
  const lines = log.split("\n").filter((line) => line.includes(message));
  return lines.map((line) => JSON.parse(line));
}
