import { z } from "zod";
import { kubernetesApiKeys } from "#net/kubernetes";
import { compilePattern } from "#text/patterns";
import { duration, ignored, section, unsupported } from "../../plugin.js";

/** The attributes that can be added. */
const METADATA_FIELDS = [
  "k8s.namespace.name",
  "k8s.node.name",
  "k8s.node.uid",
  "k8s.cluster.uid",
  "k8s.pod.name",
  "k8s.pod.uid",
  "k8s.pod.hostname",
  "k8s.pod.ip",
  "k8s.pod.start_time",
  "k8s.deployment.name",
  "k8s.deployment.uid",
  "k8s.replicaset.name",
  "k8s.replicaset.uid",
  "k8s.daemonset.name",
  "k8s.daemonset.uid",
  "k8s.statefulset.name",
  "k8s.statefulset.uid",
  "k8s.job.name",
  "k8s.job.uid",
  "k8s.cronjob.name",
  "k8s.cronjob.uid",
  "k8s.container.name",
  "container.id",
  "container.image.name",
  "container.image.tag",
  "container.image.repo_digests",
  "service.namespace",
  "service.name",
  "service.version",
  "service.instance.id",
] as const;

const DEFAULT_METADATA = [
  "k8s.namespace.name",
  "k8s.pod.name",
  "k8s.pod.uid",
  "k8s.pod.start_time",
  "k8s.deployment.name",
  "k8s.node.name",
] as const;

/** Older names of these attributes. */
const OLD_NAMES: Readonly<Record<string, string>> = {
  namespace: "k8s.namespace.name",
  podName: "k8s.pod.name",
  podUID: "k8s.pod.uid",
  startTime: "k8s.pod.start_time",
  deployment: "k8s.deployment.name",
  node: "k8s.node.name",
  cluster: "k8s.cluster.uid",
  containerID: "container.id",
  containerImage: "container.image.name",
  "k8s.pod.startTime": "k8s.pod.start_time",
};

const metadataField = z.preprocess(
  (value) => (typeof value === "string" ? (OLD_NAMES[value] ?? value) : value),
  z.enum(METADATA_FIELDS),
);

const fieldRule = z
  .strictObject({
    tag_name: z.string().default("").meta({
      description:
        "The attribute; with key_regex it may have groups such as $1. Default: k8s.pod.labels.<key> and the like.",
    }),
    key: z.string().default("").meta({ description: "The name of the label or annotation." }),
    key_regex: z.string().default("").meta({ description: "A pattern that matches whole names, instead of key." }),
    from: z
      .enum(["pod", "namespace", "node"])
      .default("pod")
      .meta({ description: "The object that has the label or annotation." }),
    regex: unsupported("it has been removed; use the processor transform to extract parts of values"),
  })
  .superRefine(({ key, key_regex }, context) => {
    if ((key === "") === (key_regex === ""))
      context.addIssue({ code: "custom", message: "expected either key or key_regex" });
    if (key_regex === "") return;
    try {
      compilePattern(key_regex);
    } catch (error) {
      context.addIssue({ code: "custom", path: ["key_regex"], message: (error as Error).message });
    }
  });

const extract = z.strictObject({
  metadata: z
    .array(metadataField)
    .nullish()
    .transform((written) => written ?? [...DEFAULT_METADATA])
    .meta({ description: "Attributes of the pod to add." }),
  labels: z.array(fieldRule).nullish().meta({ description: "Labels to add." }),
  annotations: z.array(fieldRule).nullish().meta({ description: "Annotations to add." }),
  otel_annotations: z
    .boolean()
    .default(false)
    .meta({ description: "Add annotations below resource.opentelemetry.io/, under the rest of their names." }),
  deployment_name_from_replicaset: ignored("the name of a deployment is always read from its pods"),
  service_attributes: ignored("name service.name and the like under metadata"),
});

const selectorText = (what: string) => z.string().min(1, `expected ${what}`);

const fieldFilter = z.strictObject({
  key: selectorText("a name").meta({ description: "The field, such as status.phase." }),
  value: z.string().default("").meta({ description: "Its value." }),
  op: z.enum(["equals", "not-equals"]).default("equals").meta({ description: "How they are compared." }),
});

const labelFilter = z.strictObject({
  key: selectorText("a name").meta({ description: "The name of the label." }),
  value: z.string().default("").meta({ description: "Its value." }),
  op: z
    .enum(["equals", "not-equals", "exists", "does-not-exist"])
    .default("equals")
    .meta({ description: "How they are compared." }),
});

const filter = z.strictObject({
  node: z.string().optional().meta({ description: "Only pods of this node." }),
  node_from_env_var: z
    .string()
    .optional()
    .meta({ description: "Only pods of the node that this environment variable names." }),
  namespace: z.string().optional().meta({ description: "Only pods of this namespace." }),
  fields: z.array(fieldFilter).nullish().meta({ description: "Only pods with these fields." }),
  labels: z.array(labelFilter).nullish().meta({ description: "Only pods with these labels." }),
});

const MAX_SOURCES = 4;

const source = z
  .strictObject({
    from: z.enum(["connection", "resource_attribute"]).meta({ description: "Where the value comes from." }),
    name: z.string().default("").meta({ description: "The attribute of the resource, such as k8s.pod.uid." }),
  })
  .refine(({ from, name }) => from === "connection" || name !== "", {
    path: ["name"],
    message: "expected the name of the attribute",
  });

/** The older form names one source directly, without `sources`. */
const association = z.preprocess(
  (value) => {
    const { from, name } = (value ?? {}) as { from?: unknown; name?: unknown };
    return from === undefined ? value : { sources: [name === undefined ? { from } : { from, name }] };
  },
  z.strictObject({
    sources: z
      .array(source)
      .min(1, "expected at least one source")
      .max(MAX_SOURCES, `expected at most ${MAX_SOURCES} sources`)
      .meta({ description: "All of these sources must match." }),
  }),
);

const exclude = z.strictObject({
  pods: z
    .array(z.strictObject({ name: z.string().meta({ description: "A pattern of their names." }) }))
    .nullish()
    .meta({ description: "Pods whose data stays unchanged." }),
});

export const k8sAttributesSchema = z.strictObject({
  ...kubernetesApiKeys,
  passthrough: z
    .boolean()
    .default(false)
    .meta({ description: "Add the client's address as k8s.pod.ip and nothing else, without asking the API server." }),
  extract: section(extract).prefault({}).meta({ description: "The attributes to add." }),
  filter: section(filter).optional().meta({ description: "Which pods are watched." }),
  pod_association: z.array(association).nullish().meta({
    description:
      "How the pod of a resource is found: by the first rule that matches. Default: by the client's address.",
  }),
  exclude: section(exclude).prefault({}).meta({ description: "Pods to exclude." }),
  wait_for_metadata: z.boolean().default(false).meta({
    description:
      "Refuse data with a retryable error until the pods are known. Otherwise data passes without attributes after a while.",
  }),
  wait_for_metadata_timeout: duration()
    .default(10_000)
    .meta({ description: "How long data waits for the pods to be known after the start." }),
});

export type K8sAttributesConfig = z.infer<typeof k8sAttributesSchema>;
export type ExtractRule = z.infer<typeof fieldRule>;
export type PodAssociation = z.infer<typeof association>;
