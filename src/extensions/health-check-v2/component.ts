import type { IncomingMessage } from "node:http";
import { type BuiltInExtensionContext, defineBuiltInExtension } from "#contract/built-in";
import {
  formatAddress,
  type HostPort,
  type ListeningServer,
  parseHostPort,
  protectionOf,
  type SimpleHttpResponse,
  startSimpleHttpServer,
} from "#net";
import { rejectUnauthenticated, serverAuthenticator } from "#net/auth";
import type { Extension } from "../../plugin.js";
import { type CollectorStatus, ComponentStates, type StateTree } from "./component-states.js";
import { type HealthCheckV2Config, healthCheckV2Schema } from "./config.js";

/** The Collector's second health check: the state of the agent, its pipelines and components. */
export const healthCheckV2 = defineBuiltInExtension<HealthCheckV2Config>({
  type: "healthcheckv2",
  aliases: ["health_check_v2"],
  summary: "Answers HTTP probes with the state of the agent, its pipelines and components.",
  runsIn: "parent",
  replaces: "health_check",
  schema: healthCheckV2Schema,
  listensAt: (config) => [
    {
      address: addressOf(config),
      key: [...serverPath(config), "endpoint"],
      protection: protectionOf(serverOf(config)),
    },
  ],
  create: (config, context) => new HealthCheckV2(config, context),
});

const HTTP_STATUS: Readonly<Record<CollectorStatus, number>> = {
  StatusStarting: 503,
  StatusOK: 200,
  StatusRecoverableError: 200,
  StatusPermanentError: 200,
  StatusStopping: 503,
  StatusStopped: 503,
};

class HealthCheckV2 implements Extension {
  private readonly config: HealthCheckV2Config;
  private readonly context: BuiltInExtensionContext;
  private states: ComponentStates;
  private startedMs = 0;
  private server: ListeningServer | undefined;

  constructor(config: HealthCheckV2Config, context: BuiltInExtensionContext) {
    this.config = config;
    this.context = context;
    this.states = new ComponentStates(0);
  }

  async start(): Promise<void> {
    const { config, context } = this;
    const { clock, logger, sockets } = context;
    this.startedMs = clock.now();
    this.states = new ComponentStates(this.startedMs);
    const { tls, auth } = serverOf(config);
    this.server = await startSimpleHttpServer({
      address: addressOf(config),
      configPath: [...serverPath(config), "endpoint"],
      tls,
      tlsPath: [...serverPath(config), "tls"],
      clock,
      logger,
      sockets,
      answer: async (path: string, request: IncomingMessage) => {
        await context.host.refresh?.();
        return this.answer(path, new URLSearchParams((request.url ?? "").split("?").slice(1).join("?")));
      },
      refuse: auth && rejectUnauthenticated(serverAuthenticator(auth, context)),
    });
    logger.info({ endpoint: formatAddress(this.server.address) }, "health check is listening");
  }

  async stop(): Promise<void> {
    await this.server?.close();
    this.server = undefined;
  }

  private answer(path: string, query: URLSearchParams): SimpleHttpResponse {
    const { use_v2: isV2, http } = this.config;
    if (!isV2) return path === this.config.path ? this.legacy() : NOT_FOUND;
    if (http!.status.enabled && path === http!.status.path) return this.status(query);
    if (http!.config.enabled && path === http!.config.path) return this.configPage();
    return NOT_FOUND;
  }

  private legacy(): SimpleHttpResponse {
    const isReady = this.context.host.state === "ready";
    const status = isReady ? 200 : 503;
    const { response_body: bodies } = this.config;
    if (bodies !== undefined) return { status, type: "text/plain", body: isReady ? bodies.healthy : bodies.unhealthy };
    const upSince = new Date(this.startedMs).toISOString();
    const uptime = `${Math.max(0, this.context.clock.now() - this.startedMs) / 1000}s`;
    return json(status, isReady ? { status: "Server available", upSince, uptime } : { status: "Server not available" });
  }

  private status(query: URLSearchParams): SimpleHttpResponse {
    const all = this.states.read(this.context.host, this.context.clock.now());
    const pipeline = query.get("pipeline");
    const state = pipeline ? all.parts.get(`pipeline:${pipeline}`) : all;
    if (state === undefined) return NOT_FOUND;
    const isVerbose = query.has("verbose") && query.get("verbose") !== "false";
    const shown = this.shown(state, isVerbose);
    const status = HTTP_STATUS[state.status];
    return json(shown.healthy ? status : Math.max(status, 500), {
      start_time: new Date(this.startedMs).toISOString(),
      ...shown,
    });
  }

  private shown(state: StateTree, isVerbose: boolean): ShownState {
    const parts = [...state.parts].map(([name, part]) => [name, this.shown(part, true)] as const);
    const healthy = this.isHealthy(state) && parts.every(([, part]) => part.healthy);
    return {
      healthy,
      status: state.status,
      ...(state.error !== undefined && { error: state.error }),
      status_time: new Date(state.sinceMs).toISOString(),
      attributes: {},
      ...(isVerbose && parts.length > 0 && { components: Object.fromEntries(parts) }),
    };
  }

  private isHealthy({ status, sinceMs }: StateTree): boolean {
    const { component_health: health } = this.config;
    if (status === "StatusPermanentError") return !health?.include_permanent_errors;
    if (status !== "StatusRecoverableError" || !health?.include_recoverable_errors) return true;
    return this.context.clock.now() < sinceMs + health.recovery_duration;
  }

  private configPage(): SimpleHttpResponse {
    const config = this.context.host.inspection?.config();
    return config === undefined ? json(503, { status: "the config is not known yet" }) : json(200, config);
  }
}

/** A state with the Collector's keys. */
interface ShownState {
  readonly healthy: boolean;
  readonly status: string;
  readonly error?: string;
  readonly status_time: string;
  readonly attributes: object;
  readonly components?: Readonly<Record<string, ShownState>>;
}

const NOT_FOUND: SimpleHttpResponse = { status: 404, type: "text/plain", body: "not found\n" };

function json(status: number, body: object): SimpleHttpResponse {
  return { status, type: "application/json", body: JSON.stringify(body) };
}

function serverPath({ use_v2: isV2 }: HealthCheckV2Config): readonly string[] {
  return isV2 ? ["http"] : [];
}

function serverOf(config: HealthCheckV2Config): Pick<HealthCheckV2Config, "endpoint" | "tls" | "auth"> {
  return config.use_v2 ? config.http! : config;
}

function addressOf(config: HealthCheckV2Config): HostPort {
  return parseHostPort(serverOf(config).endpoint)!;
}
