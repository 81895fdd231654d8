import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { SIGNALS, type Signal } from "../../../src/plugin.js";
import { compress } from "../../../src/runtime/codecs/compression/door.js";
import { JAEGER_GRPC_PATH } from "../../../src/runtime/traces/jaeger-tags.js";
import { GrpcJsServer } from "../../exporters/grpc-server.js";
import { type AgentProcess, adminToken, startAgentProcess } from "../../support/agent-process.js";
import { seededRandom } from "../../support/sampled.js";
import { WORST_STAGES, type WorstCase } from "./components.js";
import { WORST_EXPORTERS } from "./exporters.js";
import { WORST_RECEIVERS } from "./receivers.js";
import { WORST_REQUESTS } from "./requests.js";

/**
 * Nothing may hold the event loop for longer, in CPU time of its thread. The aim is 100 ms on a machine that does nothing
 * else (WORST_TURN_MS=100): CPU time grows by half and more where other programs use the same caches. SHOW_TURNS=1
 * prints each turn.
 */
const MAX_TURN_MS = Number(process.env["WORST_TURN_MS"] ?? 200);
/**
 * A garbage collection may fall into a turn, and code may not be compiled yet. Work that is not cut takes as long each
 * time.
 */
const MAX_TRIES = 4;
/** Of an agent with a pipeline for each component. A single hostile request took one pipeline to 1,000 MiB before. */
const MAX_PEAK_MIB = 1600;

/**
 * `npm run test:security` gives every component every request. Other runs give each component a third of them, chosen by
 * a seed: WORST_SEED repeats a choice, WORST_RECORDS=all takes all.
 */
const isWhole = process.env["npm_lifecycle_event"] === "test:security" || process.env["WORST_RECORDS"] === "all";
const SHARE = isWhole ? 1 : 1 / 3;
const seed = Number(process.env["WORST_SEED"] ?? Math.floor(Math.random() * 1e9));
const chosenBy = isWhole ? "every request" : `a third of the requests, seed ${seed}`;

const hasSchedulerStatistics = existsSync("/proc/self/schedstat");
const preload = new URL("longest-turn.mjs", import.meta.url).href;

/** A request may be too large, but no answer may be a fault of the agent. */
const TAKEN_OR_REFUSED = new Set([200, 202, 204, 400, 413, 503]);

interface Placed extends WorstCase {
  readonly name: string;
  readonly signal: Signal;
}

const prefixed = (cases: Readonly<Record<string, WorstCase>>) =>
  Object.fromEntries(Object.entries(cases).map(([name, one]) => [`the exporter ${name}`, one]));
const placed: readonly Placed[] = Object.entries({ ...WORST_STAGES, ...prefixed(WORST_EXPORTERS) }).flatMap(
  ([name, one]) => (one.signals ?? SIGNALS).map((signal) => ({ ...one, name, signal })),
);

/** One agent with a receiver, a pipeline and the component itself for each case. */
function configOf(places: Readonly<Record<string, string>>): object {
  const all = { receivers: {}, processors: {}, exporters: { nop: {} }, connectors: {}, pipelines: {} };
  for (const [number, one] of placed.entries()) addCase(all, one, number);
  for (const [type, { signals, config = { endpoint: "$ENDPOINT" } }] of Object.entries(WORST_RECEIVERS)) {
    Object.assign(all.receivers, { [type]: config });
    for (const signal of signals)
      Object.assign(all.pipelines, {
        [`${signal}/${type.replace("/", "_")}`]: { receivers: [type], exporters: ["nop"] },
      });
  }
  const { pipelines, ...components } = all;
  const config = {
    ...components,
    extensions: {
      reliability: { directory: "$FOLDER/queue" },
      health_check: { endpoint: "127.0.0.1:0" },
      admin: { endpoint: "127.0.0.1:0" },
    },
    service: {
      extensions: ["reliability", "health_check", "admin"],
      telemetry: { metrics: { level: "none" } },
      pipelines,
    },
  };
  let json = JSON.stringify(config);
  for (const [name, place] of Object.entries(places)) json = json.replaceAll(name, place);
  return JSON.parse(json);
}

type Sections = Record<"receivers" | "processors" | "exporters" | "connectors" | "pipelines", object>;

function addCase(all: Sections, { processor, exporter, connector, signal, to = signal }: Placed, number: number): void {
  const receiver = `otlp/${number}`;
  Object.assign(all.receivers, { [receiver]: { protocols: { http: { endpoint: "127.0.0.1:0" } } } });
  const add = (section: keyof Sections, component: object | undefined): string[] =>
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
function chosenOf(requests: object, number: number, share = SHARE): string[] {
  const names = Object.keys(requests);
  const random = seededRandom(seed + number);
  const shuffled = names.map((name) => ({ name, at: random() })).sort((a, b) => a.at - b.at);
  const chosen = new Set(shuffled.slice(0, Math.max(1, Math.ceil(names.length * share))).map(({ name }) => name));
  return names.filter((name) => chosen.has(name));
}

describe.runIf(hasSchedulerStatistics)(`the worst request a component can be given (${chosenBy})`, () => {
  const folder = mkdtempSync(join(tmpdir(), "sluice-worst-"));
  const file = join(folder, "longest-turn.json");
  let agent: AgentProcess;
  let sink: Server;
  let grpc: GrpcJsServer;
  let jaeger: GrpcJsServer;
  let ports: ReadonlyMap<string, string>;

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
    const host = `127.0.0.1:${(sink.address() as AddressInfo).port}`;
    const yaml = JSON.stringify(
      configOf({
        $SINK: `http://${host}`,
        $GRPC: `127.0.0.1:${grpc.port}`,
        $JAEGER: `127.0.0.1:${jaeger.port}`,
        $FOLDER: folder,
        $ENDPOINT: "127.0.0.1:0",
      }),
    );
    const env = {
      AWS_ACCESS_KEY_ID: "id",
      AWS_SECRET_ACCESS_KEY: "secret",
      GCE_METADATA_HOST: host,
      NODE_OPTIONS: `--import ${preload}`,
      LONGEST_TURN_FILE: file,
    };
    agent = await startAgentProcess({ yaml }, { env });
    agent.child.stdout!.removeAllListeners("data").resume(); // what the debug exporter prints
    ports = listeningPorts(agent.output.stderr);
  });

  afterAll(async () => {
    agent.child.kill("SIGKILL");
    await agent.exited;
    sink.close();
    grpc.kill();
    jaeger.kill();
    rmSync(folder, { recursive: true, force: true });
  });

  async function measure(): Promise<{ longestMs: number; collectionMs: number; peakMiB: number }> {
    rmSync(file, { force: true });
    agent.child.kill("SIGUSR2");
    await expect.poll(() => existsSync(file)).toBe(true);
    return JSON.parse(readFileSync(file, "utf8"));
  }

  async function post(url: string, type: string, body: Uint8Array, encoding = "gzip"): Promise<number> {
    const headers = { "content-type": type, "content-encoding": encoding };
    const answer = await fetch(url, { method: "POST", headers, body: new Uint8Array(body) });
    await answer.arrayBuffer();
    return answer.status;
  }

  /** Sends a request until no turn is too long, because one may be long by chance. Returns what is wrong. */
  async function tooMuch(
    of: string,
    name: string,
    send: () => Promise<number>,
    { maxTurnMs = MAX_TURN_MS, maxPeakMiB = MAX_PEAK_MIB }: WorstCase = {},
  ): Promise<readonly unknown[]> {
    let longestMs = Number.POSITIVE_INFINITY;
    let peakMiB = 0;
    for (let tries = 0; tries < MAX_TRIES && longestMs >= maxTurnMs; tries++) {
      await measure();
      const status = await send();
      if (!TAKEN_OR_REFUSED.has(status)) return [[name, { status }]];
      const turn = await measure();
      longestMs = Math.min(longestMs, turn.longestMs);
      peakMiB = turn.peakMiB;
      if (process.env["SHOW_TURNS"])
        process.stdout.write(
          `${turn.longestMs.toFixed(0)} ms (and ${turn.collectionMs.toFixed(0)}), ${peakMiB.toFixed(0)} MiB: ${of}, ${name}\n`,
        );
    }
    return longestMs < maxTurnMs && peakMiB < maxPeakMiB ? [] : [[name, { longestMs, peakMiB }]];
  }

  it.each([
    ["grows its record", Array.from({ length: 50 }, (_, i) => `set(attributes["${i % 2}"], attributes)`)],
    ["has a pattern that takes very long", ['replace_pattern(body, "(?:x|xx|xxx|xxxx){1,200}[yz]", "")']],
  ])("does not block on a trial of OTTL that %s", async (_, statements) => {
    const origin = `http://${logged("admin API is listening", agent.output.stderr)[0]!["endpoint"]}`;
    const headers = { authorization: `Bearer ${await adminToken(origin)}`, "content-type": "application/json" };
    const attributes = [{ key: "k", value: { stringValue: "v".repeat(10_000) } }];
    const record = { body: { stringValue: "x".repeat(400_000) }, attributes };
    const body = JSON.stringify({ context: "log", statements, record });
    await measure();
    const answer = await fetch(`${origin}/api/v1/ottl`, { method: "POST", headers, body });
    expect([answer.status, await answer.text()]).toEqual([400, expect.stringMatching(/too (large|long)/)]);
    const { longestMs } = await measure();
    expect(longestMs < MAX_TURN_MS || longestMs).toBe(true);
  });

  const bodies = new Map<string, Buffer>();
  const bodyOf = (signal: Signal, name: string) => {
    const known = bodies.get(signal + name) ?? gzipSync(WORST_REQUESTS[signal][name]!(), { level: 1 });
    bodies.set(signal + name, known);
    return known;
  };

  it.each(placed.map((one, number) => [one.name, one.signal, number] as const))(
    "does not block %s of %s",
    async (of, signal, number) => {
      const url = `http://${ports.get(`receiver otlp/${number}`)}/v1/${signal}`;
      const wrong = [];
      const one = placed[number]!;
      const { except = [] } = one;
      for (const name of chosenOf(WORST_REQUESTS[signal], number, shareOf(one)).filter(
        (each) => !except.includes(each),
      ))
        wrong.push(
          ...(await tooMuch(
            `${of} of ${signal}`,
            name,
            () => post(url, "application/x-protobuf", bodyOf(signal, name)),
            one,
          )),
        );
      expect(wrong).toEqual([]);
    },
  );

  it.each(Object.entries(WORST_RECEIVERS))("does not block the receiver %s", async (id, receiver) => {
    const {
      listening,
      portKey = "port",
      path = "/",
      type = "application/json",
      encoding = "gzip",
      requests,
    } = receiver;
    const port = logged(listening, agent.output.stderr).find(({ component }) => component === `receiver ${id}`)![
      portKey
    ]!;
    const url = `http://${port.includes?.(":") ? port : `127.0.0.1:${port}`}${path}`;
    const wrong = [];
    for (const name of chosenOf(requests, placed.length)) {
      const plain = Buffer.from(requests[name]!());
      const body = encoding === "gzip" ? gzipSync(plain, { level: 1 }) : await compress(encoding, plain);
      wrong.push(...(await tooMuch(`receiver ${id}`, name, () => post(url, type, body, encoding))));
    }
    expect(wrong).toEqual([]);
  });
});

function listeningPorts(log: string): ReadonlyMap<string, string> {
  return new Map(logged("listening for OTLP", log).map(({ component, http }) => [component!, http!]));
}

function logged(message: string, log: string): Readonly<Record<string, string>>[] {
  const lines = log.split("\n").filter((line) => line.includes(message));
  return lines.map((line) => JSON.parse(line));
}
