import type { IncomingMessage } from "node:http";
import { z } from "zod";
import { type BuiltInExtensionContext, defineBuiltInExtension } from "#contract/built-in";
import type { ExporterStatus, ReceiverStatus } from "#contract/operations";
import { authReference, glob, lazySection } from "#contract/schema";
import {
  formatAddress,
  type HostPort,
  hostPort,
  type ListeningServer,
  parseHostPort,
  protectionOf,
  type SimpleHttpResponse,
  startSimpleHttpServer,
  startUnlessPortTaken,
  tlsServer,
} from "#net";
import { rejectUnauthenticated, serverAuthenticator } from "#net/auth";
import { deprecated, type Extension, ignored, section } from "../plugin.js";

const DEFAULT_ENDPOINT: HostPort = { host: "127.0.0.1", port: 13133 };
/** The state of the exporters and of the receivers; 503 if one is down. */
const EXPORTERS_PATH = "/healthz/exporters";
const RECEIVERS_PATH = "/healthz/receivers";

const corsSchema = () =>
  z.strictObject({
    allowed_origins: z
      .array(z.string())
      .default([])
      .meta({ description: "Origins of pages that may send requests; * stands for any characters." }),
    allowed_headers: ignored("a GET needs no allowed headers"),
    max_age: ignored("a GET has no preflight request"),
  });

const schema = z.strictObject({
  endpoint: hostPort(formatAddress(DEFAULT_ENDPOINT))
    .optional()
    .meta({ description: "Default 127.0.0.1:13133; with the default, a port in use is only a warning." }),
  port: deprecated(z.number().int().min(0).max(65535).optional(), "use endpoint: 127.0.0.1:<port>"),
  path: z
    .string()
    .startsWith("/", { error: "expected a path such as /health" })
    .default("/")
    .meta({ harmless: true, description: "The path of the health check; / stands for every path." }),
  response_body: section(
    z.strictObject({
      healthy: z.string().optional().meta({ description: "The body while the agent is ready." }),
      unhealthy: z.string().optional().meta({ description: "The body while the agent is not ready." }),
    }),
  )
    .optional()
    .meta({ description: "Response bodies to use instead of JSON with the state." }),
  degraded_status: z
    .union([z.literal(200), z.literal(503)])
    .default(200)
    .meta({
      description: "The status of /healthz/exporters and /healthz/receivers when one is DEGRADED and none is DOWN.",
    }),
  tls: lazySection(tlsServer).optional().meta({ description: "Serve https." }),
  auth: authReference("server")
    .optional()
    .meta({ description: "An extension that authenticates clients. Default: no authentication." }),
  cors: lazySection(corsSchema)
    .optional()
    .meta({ description: "Allows requests from browser pages of other origins." }),
  check_collector_pipeline: ignored("the answer follows the agent's own state"),
  include_metadata: ignored("requests are only counted by their path"),
});

type HealthCheckConfig = z.infer<typeof schema>;

/**
 * Answers 200 while the agent is ready, and 503 while it starts or drains, for load balancers and orchestrators. This
 * concerns the agent alone: a backend that is down is no reason to restart the agent that keeps its data. The state of
 * the backends has a path of its own.
 */
export const healthCheck = defineBuiltInExtension<HealthCheckConfig>({
  type: "health_check",
  onByDefault: true,
  summary: "Answers HTTP probes: 200 while the agent is ready, 503 otherwise.",
  runsIn: "parent",
  schema,
  listensAt: (config) => [
    {
      address: endpointOf(config),
      key: [configuredEndpointKey(config) ?? "endpoint"],
      protection: protectionOf(config),
    },
  ],
  create: (config, context) => new HealthCheck(config, context),
});

class HealthCheck implements Extension {
  private readonly config: HealthCheckConfig;
  private readonly context: BuiltInExtensionContext;
  private server: ListeningServer | undefined;
  private upSince = 0;

  constructor(config: HealthCheckConfig, context: BuiltInExtensionContext) {
    this.config = config;
    this.context = context;
  }

  async start(): Promise<void> {
    this.upSince = this.context.clock.now();
    const { tls, auth } = this.config;
    const { logger, clock } = this.context;
    const key = configuredEndpointKey(this.config);
    const settings = {
      address: endpointOf(this.config),
      configPath: [key ?? "endpoint"],
      tls,
      clock,
      logger,
      sockets: this.context.sockets,
      takesAnyMethod: true,
      answer: async (path: string, request: IncomingMessage) => {
        await this.context.host.refresh?.();
        return this.answer(path, request.headers.origin);
      },
      refuse: auth && rejectUnauthenticated(serverAuthenticator(auth, this.context)),
    };
    const start = () => startSimpleHttpServer(settings);
    this.server = await (key === undefined ? startUnlessPortTaken(start, "health check", logger) : start());
    if (this.server !== undefined)
      logger.info({ endpoint: formatAddress(this.server.address) }, "health check is listening");
  }

  async stop(): Promise<void> {
    await this.server?.close();
    this.server = undefined;
  }

  private answer(path: string, origin: string | undefined): SimpleHttpResponse {
    const headers = corsHeaders(this.config, origin);
    if (path === EXPORTERS_PATH && path !== this.config.path) return { ...this.answerExporters(), headers };
    if (path === RECEIVERS_PATH && path !== this.config.path) return { ...this.answerReceivers(), headers };
    // As in the Collector, the path / stands for every path.
    if (path !== this.config.path && this.config.path !== "/")
      return { status: 404, type: "text/plain", body: "not found\n", headers };
    const healthy = this.context.host.state === "ready";
    const body = this.config.response_body?.[healthy ? "healthy" : "unhealthy"] ?? this.defaultBody(healthy);
    return { status: healthy ? 200 : 503, type: "application/json", body, headers };
  }

  private answerExporters(): SimpleHttpResponse {
    const exporters = this.context.host.admin?.exporters() ?? [];
    const status = worstState(exporters);
    const body = JSON.stringify({
      status,
      exporters: Object.fromEntries(exporters.map((each) => [each.id, exporterHealth(each)])),
    });
    return { status: this.statusCodes[status], type: "application/json", body };
  }

  private answerReceivers(): SimpleHttpResponse {
    const receivers = this.context.host.receivers?.() ?? [];
    const status = worstState(receivers);
    const shown = Object.fromEntries(receivers.map((each) => [each.id, receiverHealth(each)]));
    return {
      status: this.statusCodes[status],
      type: "application/json",
      body: JSON.stringify({ status, receivers: shown }),
    };
  }

  private get statusCodes(): Readonly<Record<ExporterStatus["state"], number>> {
    return { UP: 200, DEGRADED: this.config.degraded_status, DOWN: 503 };
  }

  private defaultBody(healthy: boolean): string {
    if (!healthy) return JSON.stringify({ status: "Server not available", state: this.context.host.state });
    const upSince = new Date(this.upSince).toISOString();
    const uptime = uptimeText(Math.max(0, this.context.clock.now() - this.upSince));
    const exporters = this.context.host.admin?.exporters();
    const receivers = this.context.host.receivers?.();
    return JSON.stringify({
      status: "Server available",
      upSince,
      uptime,
      ...(this.context.host.configControl && { configGeneration: this.context.host.configControl.generation.number }),
      ...(receivers && { receivers: worstState(receivers) }),
      ...(exporters && { exporters: worstState(exporters) }),
    });
  }
}

function worstState(components: readonly Pick<ExporterStatus, "state">[]): ExporterStatus["state"] {
  const states = components.map(({ state }) => state);
  return states.find((state) => state === "DOWN") ?? states.find((state) => state === "DEGRADED") ?? "UP";
}

function exporterHealth({
  state,
  paused,
  breaker,
  refused,
  queue,
  deadLetters,
  lastSentAt,
  lastError,
  failureRate,
  failureTrend,
}: ExporterStatus) {
  return {
    status: state,
    breaker: breaker.state,
    paused,
    ...(refused !== undefined && { refused: { ...refused, since: new Date(refused.since).toISOString() } }),
    queue: {
      entries: queue.entries,
      items: queue.items,
      bytes: queue.bytes,
      writeError: queue.writeError?.code ?? null,
    },
    deadLetters: deadLetters.entries,
    lastSentAt: lastSentAt === undefined ? null : new Date(lastSentAt).toISOString(),
    lastError: lastError === undefined ? null : { at: new Date(lastError.at).toISOString(), class: lastError.class },
    failureRate,
    failureTrend,
  };
}

function receiverHealth({ state, lastMessageAt, lastError, lag, reconnects, down, facts }: ReceiverStatus) {
  return {
    status: state,
    down,
    lag: lag ?? null,
    lastMessageAt: lastMessageAt === undefined ? null : new Date(lastMessageAt).toISOString(),
    lastError: lastError === undefined ? null : { ...lastError, at: new Date(lastError.at).toISOString() },
    reconnects,
    ...(facts !== undefined && { facts }),
  };
}

function configuredEndpointKey(config: HealthCheckConfig): "endpoint" | "port" | undefined {
  if (config.endpoint !== undefined) return "endpoint";
  return config.port === undefined ? undefined : "port";
}

function endpointOf(config: HealthCheckConfig): HostPort {
  if (config.endpoint !== undefined) return parseHostPort(config.endpoint)!;
  return { ...DEFAULT_ENDPOINT, port: config.port ?? DEFAULT_ENDPOINT.port };
}

function corsHeaders(config: HealthCheckConfig, origin: string | undefined): Record<string, string> {
  const lower = origin?.toLowerCase();
  if (origin === undefined || lower === undefined) return {};
  if (!config.cors?.allowed_origins.some((allowed) => glob(allowed.toLowerCase())(lower))) return {};
  return { "access-control-allow-origin": origin, vary: "origin" };
}

/** 1h2m3.004s */
function uptimeText(ms: number): string {
  const hours = Math.floor(ms / 3_600_000);
  const minutes = Math.floor((ms / 60_000) % 60);
  const seconds = (ms % 60_000) / 1000;
  if (hours > 0) return `${hours}h${minutes}m${seconds}s`;
  return minutes > 0 ? `${minutes}m${seconds}s` : `${seconds}s`;
}
