import { z } from "zod";
import { authReference } from "#contract/schema";
import { hostPort, tlsServer } from "#net";
import { duration, ignored, section, unsupported } from "../../plugin.js";

const DEFAULT_ENDPOINT = "localhost:13133";

const path = (name: string, isOn: boolean, what: string) =>
  section(
    z.strictObject({
      enabled: z
        .boolean()
        .default(isOn)
        .meta({ description: `Whether ${what} is served.` }),
      path: z
        .string()
        .startsWith("/", { error: `expected a path such as ${name}` })
        .default(name)
        .meta({ harmless: true, description: `The path of ${what}.` }),
      include_attributes: ignored("components have no attributes beside their state"),
    }),
  )
    .prefault({})
    .meta({ description: `Where ${what} is.` });

const server = {
  endpoint: hostPort(DEFAULT_ENDPOINT).default(DEFAULT_ENDPOINT).meta({ description: "Where to listen." }),
  transport: ignored("the endpoint is always host:port"),
  tls: section(tlsServer()).optional().meta({ description: "Serve https." }),
  auth: authReference("server")
    .optional()
    .meta({ description: "An extension that authenticates clients. Default: no authentication." }),
  cors: ignored("pages of other origins cannot read the answer"),
  include_metadata: ignored("nothing is kept of requests"),
  response_headers: ignored("answers have no further headers"),
  max_request_body_size: ignored("bodies of requests are not read"),
  compression_algorithms: ignored("bodies of requests are not read"),
  read_timeout: ignored("a client has 10 seconds for its request"),
  read_header_timeout: ignored("a client has 10 seconds for its request"),
  write_timeout: ignored("a client has 10 seconds for its request"),
  idle_timeout: ignored("a client has 10 seconds for its request"),
  keep_alives_enabled: ignored("connections are kept for a few seconds"),
};

const http = z.strictObject({
  ...server,
  status: path("/status", true, "the state of the agent and its components"),
  config: path("/config", false, "the config, without secrets"),
});

export const healthCheckV2Schema = z
  .strictObject({
    ...server,
    use_v2: z
      .boolean()
      .default(false)
      .meta({ description: "Use http and component_health instead of the keys that health_check has too." }),
    path: z
      .string()
      .startsWith("/", { error: "expected a path such as /health" })
      .default("/")
      .meta({ harmless: true, description: "The path of the health check without use_v2." }),
    response_body: section(
      z.strictObject({
        healthy: z.string().default("").meta({ description: "The body while the agent is ready." }),
        unhealthy: z.string().default("").meta({ description: "The body while the agent is not ready." }),
      }),
    )
      .optional()
      .meta({ description: "Bodies without use_v2 that replace the JSON." }),
    http: section(http).optional().meta({ description: "The HTTP service, with use_v2." }),
    grpc: unsupported("the health service of gRPC is not available; use http"),
    component_health: section(
      z.strictObject({
        include_permanent_errors: z
          .boolean()
          .default(false)
          .meta({ description: "Answer 500 while a backend permanently refuses all data." }),
        include_recoverable_errors: z
          .boolean()
          .default(false)
          .meta({ description: "Answer 500 when a component has been down for longer than recovery_duration." }),
        recovery_duration: duration()
          .default(60_000)
          .meta({ description: "How long a component may be down before the agent counts as unhealthy." }),
      }),
    )
      .optional()
      .meta({ description: "Lets the state of components decide, with use_v2." }),
    check_collector_pipeline: ignored("the answer follows the agent's own state"),
  })
  .superRefine((config, context) => {
    if (config.use_v2 && config.http === undefined)
      context.addIssue({
        code: "custom",
        path: ["http"],
        message: "use_v2 needs the section http, which may be empty",
      });
  });

export type HealthCheckV2Config = z.infer<typeof healthCheckV2Schema>;
