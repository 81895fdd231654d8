import { createWriteStream, readFileSync, writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { join } from "node:path";
import { stringify } from "yaml";
import { redactedConfig } from "#config";
import type { ExporterStatus } from "#contract/operations";
import { Agent, createSelfTelemetry, loadConfigWithPlugins } from "#host";
import { masks } from "../../mask-batch.js";
import type { CommandContext } from "../command.js";

const DEFAULT_PORT = 55679;
/** Time to stop, in milliseconds. It is short because undelivered data is deleted with the demo anyway. */
const STOP_MS = 500;

/** The demo's agent. It runs in this process, so it ends with the demo. */
export interface DemoAgent {
  /** URL for OTLP logs over HTTP. */
  readonly logsUrl: string;
  /** Address of its console and API. */
  readonly origin: string;
  /** The token for signing in to the console. */
  readonly token: string;
  /** True when commands find the agent without --api. */
  readonly isAtDefaultPort: boolean;
  status(): ExporterStatus;
  firstDeadLetter(): Promise<string | undefined>;
  replayAll(): Promise<void>;
  stop(): Promise<void>;
}

/** Runs an agent that sends to this backend and keeps all of its files in `folder`. */
export async function startAgent(
  folder: string,
  backendUrl: string,
  {
    port,
    registry,
    env,
  }: { port: number | undefined } & Pick<CommandContext, "registry"> & {
      env: CommandContext["terminal"]["env"];
    },
): Promise<DemoAgent> {
  const adminPort = port === undefined || port === 0 ? await choosePort(port ?? DEFAULT_PORT) : port;
  const otlpPort = await choosePort(0);
  const file = join(folder, "sluice.yaml");
  writeFileSync(file, stringify(configFor(folder, backendUrl, { adminPort, otlpPort })));
  const loaded = await loadConfigWithPlugins({ sources: [{ file }], registry, env, addDefaults: true });
  const { config, problems: warnings, tree } = loaded;
  if (config === undefined) throw new Error(`the demo's config does not load: ${warnings[0]?.message}`);
  const log = createWriteStream(join(folder, "agent.log"));
  const telemetry = createSelfTelemetry(config, { stderr: log, isTerminal: false });
  const shown = () => (tree === undefined ? {} : redactedConfig(tree, { registry: loaded.registry, defaults: true }));
  const { logger, metrics } = telemetry;
  const agent = new Agent(config, { logger, metrics, configFacts: { warnings, shown } }, masks);
  const stop = async () => {
    await agent.stop(STOP_MS);
    await telemetry.stop();
    await new Promise<void>((resolve) => void log.end(resolve));
  };
  try {
    await telemetry.start();
    await agent.start();
  } catch (error) {
    await stop();
    throw error;
  }
  const admin = agent.admin!.actingAs({ actor: "sluice demo", from: "this terminal" });
  return {
    logsUrl: `http://127.0.0.1:${otlpPort}/v1/logs`,
    origin: `http://127.0.0.1:${adminPort}`,
    token: readFileSync(join(folder, "admin-token"), "utf8").trim(),
    isAtDefaultPort: adminPort === DEFAULT_PORT,
    status: () => admin.exporters()[0]!,
    firstDeadLetter: async () => (await admin.listDeadLetters({ limit: 1, order: "oldest" })).entries[0]?.id,
    async replayAll() {
      await admin.startReplay({ query: {} }, { by: "sluice demo", reason: "the backend reads texts now" });
    },
    stop,
  };
}

/** A config as a user would write it, except for short retry and breaker times. */
function configFor(folder: string, backendUrl: string, ports: { adminPort: number; otlpPort: number }): object {
  return {
    receivers: { otlp: { protocols: { http: { endpoint: `127.0.0.1:${ports.otlpPort}` } } } },
    exporters: {
      "otlp_http/backend": {
        endpoint: backendUrl,
        encoding: "json",
        compression: "none",
        retry_on_failure: { initial_interval: "200ms", max_interval: "1s" },
        circuit_breaker: { failure_threshold: 3, reset_timeout: "2s" },
      },
    },
    extensions: {
      reliability: { directory: join(folder, "queue") },
      admin: { endpoint: `127.0.0.1:${ports.adminPort}`, token_file: join(folder, "admin-token") },
    },
    service: {
      extensions: ["reliability", "admin"],
      telemetry: { metrics: { level: "none" } },
      pipelines: { logs: { receivers: ["otlp"], exporters: ["otlp_http/backend"] } },
    },
  };
}

/** Returns the wanted port if it is free, else any free port. */
async function choosePort(wanted: number): Promise<number> {
  const server = createServer();
  const port = await new Promise<number | undefined>((resolve) => {
    server.once("error", () => resolve(undefined));
    server.listen(wanted, "127.0.0.1", () => resolve((server.address() as AddressInfo).port));
  });
  if (port === undefined) return choosePort(0);
  await new Promise((resolve) => server.close(resolve));
  return port;
}
