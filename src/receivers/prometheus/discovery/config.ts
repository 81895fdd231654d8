import { z } from "zod";
import { unsupported } from "../../../plugin.js";
import { list, textMap } from "../schema.js";

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
    ...(Object.fromEntries(others) as Record<
      `${(typeof NOT_BUILT_IN)[number]}_sd_configs`,
      ReturnType<typeof unsupported>
    >),
  };
}
