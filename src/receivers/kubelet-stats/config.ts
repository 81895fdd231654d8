import { hostname } from "node:os";
import { z } from "zod";
import { httpUrl } from "#net";
import { metricKeys, resourceAttributeKey, scrapingKeys } from "#receiving";
import { section, unsupported } from "../../plugin.js";
import { KUBELET_METRICS } from "./metrics.js";

const NO_KUBECONFIG = "kubeconfig files are not read: use serviceAccount, or tls with cert_file and key_file";
const AUTH_TYPES = ["none", "tls", "serviceAccount", "kubeConfig"] as const;

/** A list of values; null means the default. */
const choices = <T extends string>(values: readonly [T, ...T[]], byDefault: readonly T[]) =>
  z
    .array(z.enum(values))
    .nullish()
    .transform((list): readonly T[] => list ?? byDefault);

const apiConfig = z.strictObject({
  auth_type: z
    .enum(AUTH_TYPES)
    .default("serviceAccount")
    .refine((type) => type === "serviceAccount" || type === "none", {
      error: "write api_server, token_file and ca_file: kubeconfig files and client certificates are not read",
    })
    .meta({
      description: "How the agent authenticates to the API server: with its pod's service account, or not at all.",
    }),
  context: unsupported(NO_KUBECONFIG),
  api_server: httpUrl().optional().meta({ description: "The API server, when the agent runs outside of its cluster." }),
  token_file: z.string().optional().meta({ harmless: true, description: "A file with the token for it." }),
  ca_file: z.string().optional().meta({ harmless: true, description: "CA certificates for checking its certificate." }),
});

export const kubeletStatsSchema = z
  .strictObject({
    endpoint: z
      .string()
      .nullish()
      .transform((text) => text ?? "")
      .refine((text) => kubeletUrl(text, true) !== undefined, "expected host:10250 or a URL")
      .meta({ description: "Where the kubelet listens: host:port or a URL. Default: this machine." }),
    ...scrapingKeys(10_000, 10_000),
    auth_type: z
      .enum(AUTH_TYPES)
      .default("tls")
      .refine((type) => type !== "kubeConfig", { error: NO_KUBECONFIG })
      .meta({
        description:
          "How the agent authenticates to the kubelet: with a certificate, with its pod's service account, or not at all.",
      }),
    context: unsupported(NO_KUBECONFIG),
    ca_file: z
      .string()
      .optional()
      .meta({ harmless: true, description: "CA certificates for checking the kubelet's certificate." }),
    cert_file: z
      .string()
      .optional()
      .meta({ harmless: true, description: "The client certificate, with auth_type tls." }),
    key_file: z.string().optional().meta({ harmless: true, description: "The private key of the certificate." }),
    token_file: z.string().optional().meta({
      harmless: true,
      description: "A file with the token, with auth_type serviceAccount. Default: that of the pod.",
    }),
    insecure_skip_verify: z
      .boolean()
      .default(false)
      .meta({ description: "Accept any certificate: anyone could be at the other end and get the token." }),
    metric_groups: choices(["container", "pod", "node", "volume"], ["container", "pod", "node"]).meta({
      description: "Groups of metrics to measure.",
    }),
    extra_metadata_labels: choices(["container.id", "k8s.volume.type"], []).meta({
      description: "Resource attributes that need the kubelet's list of pods too.",
    }),
    collect_all_network_interfaces: section(
      z.strictObject({
        pod: z.boolean().default(false).meta({ description: "All interfaces of pods." }),
        node: z.boolean().default(false).meta({ description: "All interfaces of the node." }),
      }),
    )
      .prefault({})
      .meta({ description: "Objects for which all network interfaces are measured, not only the default one." }),
    k8s_api_config: section(apiConfig).optional().meta({
      description: "The API server, for the volumes behind claims and the size of the node.",
    }),
    node: z
      .string()
      .optional()
      .meta({ description: "The name of the node, for metrics relative to its CPUs or memory." }),
    ...metricKeys(KUBELET_METRICS),
    resource_attributes: section(
      z.strictObject({
        "container.id": resourceAttributeKey(true),
        "k8s.container.name": resourceAttributeKey(true),
        "k8s.namespace.name": resourceAttributeKey(true),
        "k8s.node.name": resourceAttributeKey(true),
        "k8s.node.system_container.name": resourceAttributeKey(true),
        "k8s.persistentvolumeclaim.name": resourceAttributeKey(true),
        "k8s.pod.name": resourceAttributeKey(true),
        "k8s.pod.uid": resourceAttributeKey(true),
        "k8s.volume.name": resourceAttributeKey(true),
        "k8s.volume.type": resourceAttributeKey(true),
        "aws.volume.id": resourceAttributeKey(false),
        "fs.type": resourceAttributeKey(false),
        "gce.pd.name": resourceAttributeKey(false),
        "glusterfs.endpoints.name": resourceAttributeKey(false),
        "glusterfs.path": resourceAttributeKey(false),
        partition: resourceAttributeKey(false),
      }),
    )
      .prefault({})
      .meta({ description: "Which attributes resources have." }),
  })
  .superRefine(({ auth_type, cert_file, key_file, metrics, node, k8s_api_config }, context) => {
    const issue = (key: string, message: string) => context.addIssue({ code: "custom", path: [key], message });
    if (auth_type === "tls" && !(cert_file && key_file)) issue("auth_type", "tls needs cert_file and key_file");
    const enabled = Object.entries(metrics).find(
      ([name, written]) => name.endsWith(".node.utilization") && (written as { enabled?: boolean } | null)?.enabled,
    );
    if (enabled && !node) issue("node", `${enabled[0]} needs the name of the node`);
    if (enabled && !k8s_api_config) issue("k8s_api_config", `${enabled[0]} needs the API server`);
  });

export type KubeletStatsConfig = z.infer<typeof kubeletStatsSchema>;

export type KubeletAttributes = Partial<Record<keyof KubeletStatsConfig["resource_attributes"], string>>;

/** Accepts host:port or a URL; without a host it means this machine. Returns undefined for anything else. */
export function kubeletUrl(endpoint: string, isSecure: boolean): string | undefined {
  const scheme = isSecure ? "https" : "http";
  if (endpoint === "") return `${scheme}://${hostname()}:${isSecure ? 10250 : 10255}`;
  const url = (/^https?:\/\//.test(endpoint) ? endpoint : `${scheme}://${endpoint}`).replace(/:\/\/:/, "://localhost:");
  return URL.canParse(url) ? url : undefined;
}
