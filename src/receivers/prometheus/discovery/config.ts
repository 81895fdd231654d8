import { z } from "zod";
import { unsupported } from "../../../plugin.js";
import { httpUrl } from "../../../runtime/kit.js";
import { httpClientConfigKeys } from "../http-config.js";
import { list, prometheusDuration, textMap } from "../schema.js";
import { DNS_TYPES } from "./dns.js";

/** A target is a host and a port: scheme and path are keys of the job. */
export const address = z
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
  "kubernetes",
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
    .meta({ description: "Paths; the name of a file may have a star in it." }),
  refresh_interval: prometheusDuration()
    .default(300_000)
    .meta({ description: "How often files are read anew; changes are seen within five seconds anyway." }),
});

const httpSchema = z.strictObject({
  url: httpUrl().meta({ description: "What tells the targets, as JSON." }),
  refresh_interval: prometheusDuration().default(60_000).meta({ description: "How often it is asked." }),
  ...httpClientConfigKeys(),
});

const dnsSchema = z
  .strictObject({
    names: z.array(z.string().min(1)).min(1).meta({ description: "Names that are asked for." }),
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
      .meta({ description: "The port of targets; SRV has it in the record." }),
    refresh_interval: prometheusDuration().default(30_000).meta({ description: "How often names are asked for." }),
  })
  .superRefine(({ type, port }, context) => {
    if (type !== "SRV" && port === undefined)
      context.addIssue({ code: "custom", message: `records of type ${type} need a port` });
  });

/** Ways in which a job finds its targets. */
export function discoveryKeys() {
  const others = NOT_BUILT_IN.map((name) => [
    `${name}_sd_configs`,
    unsupported(
      "this discovery is not built in; http_sd_configs or file_sd_configs take targets from a program of yours",
    ),
  ]);
  return {
    static_configs: list(staticSchema).meta({ description: "Targets that are known." }),
    file_sd_configs: list(fileSchema).meta({ description: "Targets in files." }),
    http_sd_configs: list(httpSchema).meta({ description: "Targets that a server tells." }),
    dns_sd_configs: list(dnsSchema).meta({ description: "Targets by names of the domain name system." }),
    ...(Object.fromEntries(others) as Record<
      `${(typeof NOT_BUILT_IN)[number]}_sd_configs`,
      ReturnType<typeof unsupported>
    >),
  };
}
