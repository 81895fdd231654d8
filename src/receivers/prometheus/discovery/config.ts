import { z } from "zod";
import { httpUrl } from "#net";
import { caseInsensitiveEnum, ignored, section, unsupported } from "../../../plugin.js";
import { httpClientConfigKeys } from "../http-config.js";
import { list, prometheusDuration, textMap } from "../schema.js";
import { DNS_TYPES } from "./dns.js";
import { KUBERNETES_ROLES } from "./kubernetes/kubernetes.js";

/** A target is a host and a port; scheme and path are keys of the job. */
const address = z
  .string()
  .min(1)
  .refine(
    (text) => !text.includes("/"),
    "expected host:port; the scheme is the job's key scheme, the path metrics_path",
  );

const staticSchema = z.strictObject({
  targets: list(address).meta({ description: "Hosts with ports." }),
  labels: textMap().meta({ description: "Labels of these targets." }),
});

const NOT_BUILT_IN = [
  "azure",
  "consul",
  "digitalocean",
  "docker",
  "dockerswarm",
  "ec2",
  "eureka",
  "gce",
  "hetzner",
  "ionos",
  "kuma",
  "lightsail",
  "linode",
  "marathon",
  "nerve",
  "nomad",
  "openstack",
  "ovhcloud",
  "puppetdb",
  "scaleway",
  "serverset",
  "stackit",
  "triton",
  "uyuni",
  "vultr",
] as const;

const fileSchema = z.strictObject({
  files: z
    .array(
      z.string().regex(/^[^*]*(\*[^/*]*)?\.(json|yml|yaml)$/, "expected a path that ends with .json, .yml or .yaml"),
    )
    .min(1)
    .meta({ harmless: true, description: "Paths; the name of a file may have a star in it." }),
  refresh_interval: prometheusDuration()
    .default(300_000)
    .meta({ description: "How often files are reloaded. Changes are noticed within five seconds in any case." }),
});

const httpSchema = z.strictObject({
  url: httpUrl().meta({ description: "The URL that returns targets as JSON." }),
  refresh_interval: prometheusDuration().default(60_000).meta({ description: "How often it is queried." }),
  ...httpClientConfigKeys(),
});

const dnsSchema = z
  .strictObject({
    names: z.array(z.string().min(1)).min(1).meta({ description: "The DNS names to resolve." }),
    type: z
      .string()
      .default("SRV")
      .transform((word) => word.toUpperCase())
      .pipe(z.enum(DNS_TYPES))
      .meta({ description: "The kind of record: SRV, A, AAAA, MX or NS." }),
    port: z
      .number()
      .int()
      .min(1)
      .max(65535)
      .optional()
      .meta({ description: "The port of targets; SRV records contain it." }),
    refresh_interval: prometheusDuration().default(30_000).meta({ description: "How often names are resolved." }),
  })
  .superRefine(({ type, port }, context) => {
    if (type !== "SRV" && port === undefined)
      context.addIssue({ code: "custom", message: `records of type ${type} need a port` });
  });

const role = caseInsensitiveEnum(KUBERNETES_ROLES);

const kubernetesSchema = z
  .strictObject({
    role: role.meta({
      description: "The objects that become targets: node, pod, service, endpoints, endpointslice or ingress.",
    }),
    api_server: z
      .union([z.literal(""), httpUrl()])
      .optional()
      .meta({ description: "The API server. Default: the one of the cluster that the agent runs in." }),
    kubeconfig_file: unsupported("write api_server, with authorization and tls_config"),
    namespaces: section(
      z.strictObject({
        names: list(z.string().min(1)).meta({ description: "Only objects of these namespaces." }),
        own_namespace: z
          .boolean()
          .default(false)
          .meta({ description: "Include the namespace that the agent runs in." }),
      }),
    )
      .optional()
      .meta({ description: "The namespaces to search. Default: all." }),
    selectors: list(
      z.strictObject({
        role: role.meta({ description: "The role that the selector is for." }),
        label: z.string().default("").meta({ description: "A selector of labels." }),
        field: z.string().default("").meta({ description: "A selector of fields." }),
      }),
    ).meta({ description: "Selectors for the objects." }),
    attach_metadata: section(
      z.strictObject({
        node: z.boolean().default(false).meta({ description: "Add the labels of their nodes to targets." }),
        namespace: ignored("labels of namespaces are not added to targets"),
      }),
    )
      .optional()
      .meta({ description: "Further metadata for targets." }),
    ...httpClientConfigKeys(),
  })
  .superRefine((config, context) => {
    const credentials = ["basic_auth", "authorization", "bearer_token", "bearer_token_file", "tls_config"] as const;
    if (config.api_server) return;
    for (const key of credentials)
      if (config[key] !== undefined)
        context.addIssue({
          code: "custom",
          path: [key],
          message: "inside the cluster the pod's service account is used: set api_server too",
        });
  });

/** The keys for the ways in which a job finds its targets. */
export function discoveryKeys() {
  const others = NOT_BUILT_IN.map((name) => [
    `${name}_sd_configs`,
    unsupported(
      "this discovery is not built in; use http_sd_configs or file_sd_configs with targets from your own program",
    ),
  ]);
  return {
    static_configs: list(staticSchema).meta({ description: "Targets listed in the config." }),
    file_sd_configs: list(fileSchema).meta({ description: "Targets in files." }),
    http_sd_configs: list(httpSchema).meta({ description: "Targets from an HTTP server." }),
    dns_sd_configs: list(dnsSchema).meta({ description: "Targets from DNS." }),
    kubernetes_sd_configs: list(kubernetesSchema).meta({ description: "Targets from the Kubernetes API." }),
    ...(Object.fromEntries(others) as Record<
      `${(typeof NOT_BUILT_IN)[number]}_sd_configs`,
      ReturnType<typeof unsupported>
    >),
  };
}
