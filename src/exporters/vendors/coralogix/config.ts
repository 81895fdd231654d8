import { z } from "zod";
import { httpUrl, parseGrpcTarget } from "#net";
import { availableCompression, wordOrNone } from "#net/otlp";
import { grpcClientKeys } from "#net/sending";
import { caseInsensitiveEnum, ignored, SIGNALS, type Signal, secret, section } from "../../../plugin.js";

const grpcClient = z.strictObject(grpcClientKeys());

/** How the endpoint of one signal is reached. */
export interface CoralogixTransport extends z.infer<typeof grpcClient> {
  /** For HTTP only. */
  readonly proxy_url: URL | undefined;
}

export interface CoralogixConfig {
  readonly isHttp: boolean;
  /** Signals without an endpoint have none. */
  readonly transports: Partial<Record<Signal, CoralogixTransport>>;
  readonly privateKey: string;
  readonly application: CoralogixName;
  readonly subsystem: CoralogixName;
}

/** The name of an application or subsystem: the first of these attributes that a resource has, or else a default. */
export interface CoralogixName {
  readonly attributes: readonly string[];
  readonly fallback: string;
}

/** The Collector's default endpoints are schemes without a host. */
const isNothing = (text: unknown) => text === "" || text === "https://" || text === "http://";

const transport = z.strictObject({
  ...grpcClientKeys(),
  endpoint: z
    .preprocess((text) => (isNothing(text) ? undefined : text), grpcClientKeys().endpoint.optional())
    .meta({ description: "host:port; with the prefix http:// without TLS. Default: that of the domain." }),
  compression: availableCompression(wordOrNone(caseInsensitiveEnum(["none", "gzip", "snappy", "zstd"])))
    .optional()
    .meta({ description: "The compression of messages. Default: gzip." }),
  proxy_url: z
    .preprocess((url) => (url === "" ? undefined : url), httpUrl().optional())
    .meta({ description: "An HTTP proxy, if the protocol is http." }),
  timeout: ignored("use the exporter's timeout"),
  accept_encoding: ignored("answers are a few bytes long"),
});

type RawTransport = z.infer<typeof transport>;

const forSignal = (signal: string) =>
  section(transport)
    .optional()
    .meta({ description: `How ${signal} are sent, if different from domain_settings.` });
const names = (of: string) =>
  z
    .array(z.string())
    .nullish()
    .meta({ description: `Resource attributes with the name of the ${of}; the first one that exists is used.` });

export const coralogixSchema = z
  .strictObject({
    domain: z
      .string()
      .default("")
      .meta({ description: "The domain of the Coralogix account, such as eu2.coralogix.com." }),
    private_key: secret().default("").meta({ description: "The key for sending data." }),
    application_name: z.string().default("").meta({ description: "The application of resources that name none." }),
    subsystem_name: z.string().default("").meta({ description: "The subsystem of resources that name none." }),
    application_name_attributes: names("application"),
    subsystem_name_attributes: names("subsystem"),
    protocol: z
      .enum(["", "grpc", "http"])
      .default("grpc")
      .meta({ description: "OTLP over gRPC, or over HTTP with protobuf." }),
    private_link: z
      .boolean()
      .default(false)
      .meta({ description: "Send to the domain's endpoint for AWS PrivateLink." }),
    domain_settings: section(transport).optional().meta({ description: "How the endpoint of the domain is reached." }),
    logs: forSignal("logs"),
    traces: forSignal("traces"),
    metrics: forSignal("metrics"),
    profiles: ignored("there are no profiles pipelines"),
    rate_limiter: ignored("every exporter has its own circuit breaker instead"),
  })
  .transform((raw, context): CoralogixConfig => {
    const problem = (key: string, message: string) => context.addIssue({ code: "custom", path: [key], message });
    const domain = isNothing(raw.domain) ? "" : raw.domain;
    const isPrivate = raw.private_link && !domain.includes("private.");
    const endpoint =
      domain === "" ? undefined : parseGrpcTarget(`https://ingress.${isPrivate ? "private." : ""}${domain}:443`);
    if (raw.private_key.trim() === "") problem("private_key", "expected a key");
    if (raw.application_name === "") problem("application_name", "expected a name");
    if (domain !== "" && endpoint === undefined) problem("domain", "expected a domain such as eu2.coralogix.com");
    const isHttp = raw.protocol === "http";
    const transports: Partial<Record<Signal, CoralogixTransport>> = {};
    for (const signal of SIGNALS) {
      const own = raw[signal];
      if (own?.endpoint !== undefined) transports[signal] = withDefaults(own, own.endpoint);
      else if (endpoint !== undefined) transports[signal] = withDefaults(merged(raw.domain_settings, own), endpoint);
      if (isHttp && transports[signal]?.compression === "snappy")
        problem(signal, "expected gzip, zstd or none for http");
    }
    if (domain === "" && Object.keys(transports).length === 0)
      problem("domain", "expected a domain such as eu2.coralogix.com, or an endpoint of logs, traces or metrics");
    return {
      isHttp,
      transports,
      privateKey: raw.private_key.trim(),
      application: { attributes: raw.application_name_attributes ?? [], fallback: raw.application_name },
      subsystem: { attributes: raw.subsystem_name_attributes ?? [], fallback: raw.subsystem_name },
    };
  });

/** The keys of a signal count more than those of the domain; headers of both are sent. */
function merged(domain: RawTransport | undefined, own: RawTransport | undefined): Partial<RawTransport> {
  const written = Object.entries(own ?? {}).filter(([, value]) => value !== undefined && value !== null);
  return { ...domain, ...Object.fromEntries(written), headers: { ...domain?.headers, ...own?.headers } };
}

function withDefaults(given: Partial<RawTransport>, endpoint: CoralogixTransport["endpoint"]): CoralogixTransport {
  return {
    ...given,
    endpoint,
    compression: given.compression ?? "gzip",
    proxy_url: given.proxy_url,
  } as CoralogixTransport;
}
