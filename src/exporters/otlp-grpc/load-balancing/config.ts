import { z } from "zod";
import { parseGrpcTarget, parseHostPort } from "#net";
import { duration, ignored, section, unsupported } from "../../../plugin.js";
import { otlpGrpcSchema } from "../config.js";
import { RING_LAYOUTS } from "./hash-ring.js";
import { ROUTING_KEYS } from "./routing-key.js";

const DEFAULT_PORT = 4317;

/** All endpoints share one queue, so its keys are written next to `protocol`, not in it. */
const OWN_KEY = "write it next to protocol: all endpoints share one queue";

const otlp = otlpGrpcSchema.omit({ endpoint: true }).extend({
  endpoint: ignored("the resolver provides the endpoints"),
  timeout: ignored(OWN_KEY),
  sending_queue: ignored(OWN_KEY),
  retry_on_failure: ignored(OWN_KEY),
});

const port = z.number().int().min(1).max(65535);

const hostname = z.string().superRefine((text, context) => {
  const target = parseGrpcTarget(withPort(text));
  if (target === undefined || "path" in target.address)
    context.addIssue({ code: "custom", message: "expected host or host:port, such as gateway-1:4317" });
});

const staticResolver = z.strictObject({
  hostnames: z
    .array(hostname)
    .min(1, "expected at least one host")
    .meta({ description: "The endpoints, as host or host:port; the default port is 4317." }),
});

const dnsServer = z
  .string()
  .refine((text) => parseHostPort(/:\d+$/.test(text) ? text : `${text}:53`)?.host !== undefined, {
    error: "expected the address of a DNS server, such as 127.0.0.1:8600",
  });

const dnsResolver = z.strictObject({
  hostname: z.string().min(1, "expected a name such as gateways.example.com").meta({
    description: "The host name whose addresses (A and AAAA) are the endpoints.",
  }),
  port: z
    .union([port, z.string().regex(/^\d{1,5}$/, "expected a port such as 4317")])
    .default(DEFAULT_PORT)
    .meta({ description: "The port of all endpoints." }),
  interval: duration().default(5000).meta({ description: "How often the name is resolved." }),
  timeout: duration().default(1000).meta({ description: "Timeout of one DNS lookup." }),
  servers: z
    .array(dnsServer)
    .optional()
    .meta({ description: "DNS servers to ask instead of the system's, such as 127.0.0.1:8600 for Consul." }),
});

const k8sResolver = z.strictObject({
  service: z
    .string()
    .regex(
      /^[a-z0-9-]+(\.[a-z0-9-]+)?$/,
      "expected a service, with its namespace or without, such as gateways.monitoring",
    )
    .meta({
      description: "The Kubernetes service, as name or name.namespace. Default: the agent's own namespace.",
    }),
  ports: z
    .array(port)
    .min(1, "expected at least one port")
    .default([DEFAULT_PORT])
    .meta({ description: "The ports of every pod; each port is one endpoint." }),
  timeout: duration().default(1000).meta({ description: "How long the start waits for the first list of endpoints." }),
  return_hostnames: z.boolean().default(false).meta({
    description:
      "Use the host names of pods instead of addresses, for a StatefulSet: pods then keep their share of the data over restarts.",
  }),
  api_server: z
    .url({ protocol: /^https?$/, error: "expected a URL such as https://10.0.0.1:6443" })
    .optional()
    .meta({ description: "The API server. Default: that of the cluster the agent runs in." }),
  token_file: z.string().optional().meta({
    harmless: true,
    description: "The token file for the API server. Default: that of the pod's service account.",
  }),
  ca_file: z.string().optional().meta({
    harmless: true,
    description: "The CA of the API server's certificate. Default: that of the pod's service account.",
  }),
});

const resolver = z
  .strictObject({
    static: section(staticResolver).optional().meta({ description: "Always the same endpoints." }),
    dns: section(dnsResolver).optional().meta({ description: "The addresses of a name." }),
    k8s: section(k8sResolver).optional().meta({ description: "The endpoints of a Kubernetes service." }),
    aws_cloud_map: unsupported("use dns: AWS Cloud Map has names for its services"),
  })
  .superRefine((given, context) => {
    const count = [given.static, given.dns, given.k8s].filter((each) => each !== undefined).length;
    if (count !== 1) context.addIssue({ code: "custom", message: "expected one of static, dns and k8s" });
  });

export const loadBalancingSchema = z
  .strictObject({
    protocol: section(
      z.strictObject({
        otlp: section(otlp)
          .prefault({})
          .meta({ description: "How to send: the keys of otlp_grpc without its endpoint." }),
      }),
    )
      .prefault({})
      .meta({ description: "How data is sent to the endpoints." }),
    resolver: resolver.meta({ description: "Where the endpoints come from." }),
    routing_key: z.enum(ROUTING_KEYS).optional().meta({
      description: "The key that keeps records together on one endpoint. Default: traceID, and service for metrics.",
    }),
    routing_attributes: z.array(z.string().min(1)).optional().meta({
      description:
        "For routing_key: attributes. They are looked for in the resource, the scope and the record; for spans also span.name and span.kind.",
    }),
    hash_ring: z.enum(RING_LAYOUTS).default("current").meta({
      description:
        "Which keys go to which endpoint: current is the Collector's ring since 0.157, legacy the one before, for fleets with older Collectors.",
    }),
  })
  .superRefine(({ routing_key, routing_attributes = [] }, context) => {
    if (routing_key === "attributes" && routing_attributes.length === 0)
      context.addIssue({ code: "custom", path: ["routing_attributes"], message: "expected the names of attributes" });
  });

export type LoadBalancingConfig = z.infer<typeof loadBalancingSchema>;
export type DnsResolverConfig = z.infer<typeof dnsResolver>;
export type K8sResolverConfig = z.infer<typeof k8sResolver>;

/** Returns an endpoint with its port, as the ring names it; the default port is added if it is missing. */
export function withPort(endpoint: string): string {
  return /:\d+\/?$/.test(endpoint) ? endpoint : `${endpoint}:${DEFAULT_PORT}`;
}
