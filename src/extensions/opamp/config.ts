import { z } from "zod";
import { authReference } from "#contract/schema";
import { httpHeaders, httpUrl, tlsClient } from "#net";
import { byteSize, duration, ignored, section } from "../../plugin.js";
import { parseInstanceUid } from "./instance-uid.js";

const EXPECTED_WS_URL = "expected a URL such as wss://opamp.example.com:4320/v1/opamp";

/** A ws or wss URL; its output has the scheme http or https, because the connection begins as an HTTP request. */
function webSocketUrl() {
  return z
    .string({ error: EXPECTED_WS_URL })
    .transform((text, context) => {
      const url = /^wss?:\/\//i.test(text) ? httpUrl().safeParse(text.replace(/^ws/i, "http")) : undefined;
      if (url?.success) return url.data;
      context.addIssue({ code: "custom", message: EXPECTED_WS_URL });
      return z.NEVER;
    })
    .meta({ format: "url" });
}

/** The Collector names an authenticator with `auth: ID` here, and with `auth: {authenticator: ID}` elsewhere. */
const auth = z
  .union([
    z
      .string()
      .min(1)
      .meta({ authenticator: "client" })
      .transform((authenticator) => ({ authenticator })),
    authReference("client"),
  ])
  .nullish()
  .meta({ description: "The id of an extension that gives credentials, such as bearertokenauth." });

const linkKeys = {
  tls: section(tlsClient()).optional().meta({ description: "Certificates and versions of TLS, for wss and https." }),
  headers: httpHeaders().nullish().meta({ description: "Headers of the requests, such as credentials." }),
  auth,
};

const serverSchema = z
  .strictObject({
    ws: section(
      z.strictObject({ endpoint: webSocketUrl().meta({ description: "The server's ws or wss URL." }), ...linkKeys }),
    )
      .optional()
      .meta({ description: "Connects over a WebSocket: the server can reach the agent at any time." }),
    http: section(
      z.strictObject({
        endpoint: httpUrl().meta({ description: "The server's http or https URL." }),
        polling_interval: interval().meta({ description: "How often the server is polled." }),
        ...linkKeys,
      }),
    )
      .optional()
      .meta({ description: "Polls over HTTP, for networks that block WebSockets." }),
  })
  .superRefine(({ ws, http }, context) => {
    if ((ws === undefined) === (http === undefined))
      context.addIssue({ code: "custom", message: "expected either ws or http" });
  });

const OWN_TELEMETRY = "own telemetry goes where service.telemetry says; a remote config can change that";

const capabilitiesSchema = z.strictObject({
  reports_effective_config: flag(true, "Send the config that the agent runs with, without secrets."),
  reports_health: flag(true, "Send the health of the agent, its pipelines and their components."),
  reports_heartbeat: flag(true, "Send a message at least every heartbeat_interval, also when nothing has changed."),
  accepts_remote_config: flag(false, "Let the server change the agent's config, through a validated reload."),
  reports_remote_config: ignored("the outcome of a config is always reported if accepts_remote_config is on"),
  reports_available_components: ignored("a server can tell the components from service.version"),
  accepts_restart_command: ignored("the program that started the agent must restart it"),
  accepts_opamp_connection_settings: ignored("the connection to the server is set in this config alone"),
  accepts_other_connection_settings: ignored("connections to other servers are set in the config"),
  accepts_packages: ignored("the agent does not install software"),
  reports_package_statuses: ignored("the agent does not install software"),
  reports_own_metrics: ignored(OWN_TELEMETRY),
  reports_own_logs: ignored(OWN_TELEMETRY),
  reports_own_traces: ignored(OWN_TELEMETRY),
});

const attributes = z.record(z.string().min(1), z.union([z.string(), z.number(), z.boolean()]));

const descriptionSchema = z.strictObject({
  identifying_attributes: attributes
    .default({})
    .meta({ description: "Attributes that identify the agent, in addition to service.name, version and instance.id." }),
  non_identifying_attributes: attributes
    .default({})
    .meta({ description: "Attributes that describe it, such as its environment; they win over the default ones." }),
  include_resource_attributes: flag(false, "Describe the agent with all attributes of service.telemetry.resource."),
});

const SUPERVISOR = "the supervisor of the agent stops it with a signal";

export const opampSchema = z.strictObject({
  server: section(serverSchema).meta({ description: "The OpAMP server: ws or http." }),
  instance_uid: z
    .string()
    .refine((text) => parseInstanceUid(text) !== undefined, "expected a UUID, or a ULID of 26 characters")
    .optional()
    .meta({ description: "The identity of this agent. Default: one is created and kept in storage.directory." }),
  capabilities: section(capabilitiesSchema)
    .prefault({})
    .meta({ description: "What the agent reports to the server, and what the server may do." }),
  agent_description: section(descriptionSchema)
    .prefault({})
    .meta({ description: "Attributes by which the server knows the agent." }),
  heartbeat_interval: interval().meta({ description: "How often a message is sent when nothing has changed (ws)." }),
  max_message_size: byteSize()
    .default(4 * 1024 * 1024)
    .meta({ description: "Larger messages of the server are refused." }),
  storage: section(
    z.strictObject({
      directory: z
        .string()
        .min(1, "expected a directory such as ./data/opamp")
        .default("./data/opamp")
        .meta({ privileged: true, description: "Where the identity and the config of the server are kept." }),
    }),
  )
    .prefault({})
    .meta({ description: "What survives a restart." }),
  ppid: ignored(SUPERVISOR),
  ppid_poll_interval: ignored(SUPERVISOR),
});

export type OpampConfig = z.infer<typeof opampSchema>;
/** The keys that both transports have. */
export type LinkConfig = Pick<NonNullable<OpampConfig["server"]["ws"]>, "endpoint" | "tls" | "headers" | "auth">;

const MIN_INTERVAL_MS = 1000;

function interval() {
  return duration()
    .refine((ms) => ms >= MIN_INTERVAL_MS, "expected at least 1s")
    .default(30_000);
}

function flag(byDefault: boolean, description: string) {
  return z.boolean().default(byDefault).meta({ description });
}
