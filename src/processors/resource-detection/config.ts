import { z } from "zod";
import { deprecated, duration, ignored, section, unsupported } from "../../plugin.js";

/** Detectors that are implemented. */
const DETECTOR_NAMES = [
  "env",
  "system",
  "docker",
  "ec2",
  "eks",
  "lambda",
  "gcp",
  "gke",
  "gce",
  "azure",
  "aks",
  "k8snode",
  "k8s_node",
  "k8s_api",
  "heroku",
] as const;

/** Detectors that the Collector has, or that configs use as if it had them. They are accepted but find nothing. */
const UNIMPLEMENTED_DETECTORS = [
  "akamai",
  "alibaba_ecs",
  "azurecontainerapps",
  "consul",
  "digitalocean",
  "dynatrace",
  "ecs",
  "elastic_beanstalk",
  "elasticbeanstalk",
  "hetzner",
  "ibmcloud_classic",
  "ibmcloud_vpc",
  "kubeadm",
  "nova",
  "openshift",
  "oraclecloud",
  "process",
  "scaleway",
  "tencent_cvm",
  "upcloud",
  "vultr",
] as const;

export type ResourceDetectorName = (typeof DETECTOR_NAMES)[number];

const NOT_IMPLEMENTED = "this detector is not built in and finds nothing";
const NO_TAGS = "tags are not read";

const resourceAttributes = z
  .record(
    z.string(),
    section(
      z.strictObject({ enabled: z.boolean().default(true).meta({ description: "Whether the attribute is added." }) }),
    ),
  )
  .nullish()
  .transform((written) => written ?? {})
  .meta({ description: "Which attributes of the detector are added." });

function detectorSection<Shape extends z.ZodRawShape>(shape: Shape, description: string) {
  return section(z.strictObject({ resource_attributes: resourceAttributes, ...shape }))
    .prefault({})
    .meta({ description });
}

const nodeSection = () =>
  detectorSection(
    {
      node_from_env_var: z.string().min(1).default("K8S_NODE_NAME").meta({
        description: "The variable with the name of the node.",
      }),
      auth_type: z.literal("serviceAccount").default("serviceAccount").meta({
        description: "How the agent authenticates to the API: with the service account of its pod.",
      }),
    },
    "The detector of Kubernetes nodes.",
  );

const googleSection = () => detectorSection({ labels: ignored("labels of machines are not read") }, "Google Cloud.");

export const schema = z.strictObject({
  detectors: z
    .array(z.enum([...DETECTOR_NAMES, ...UNIMPLEMENTED_DETECTORS]))
    .default(["env"])
    .meta({
      description:
        "The detectors, which run all at once; if several find the same attribute, the first in this list wins.",
    }),
  override: z.boolean().default(true).meta({ description: "Whether existing attributes of a resource are replaced." }),
  timeout: duration()
    .refine((ms) => ms > 0, "expected more than 0")
    .default(5000)
    .meta({
      description:
        "Timeout of the whole detection; detectors that have not answered by then count as having found nothing.",
    }),
  attributes: deprecated(
    z.array(z.string()).nullish().meta({ description: "Attributes to add. Default: all." }),
    "use resource_attributes of the detector",
  ),
  system: detectorSection(
    {
      hostname_sources: z
        .array(z.enum(["dns", "os", "cname", "lookup"]))
        .default(["dns", "os"])
        .transform((sources) => (sources.length === 0 ? (["dns", "os"] as const) : sources))
        .meta({ description: "Sources of host.name; the first one that gives a name is used." }),
    },
    "The machine.",
  ),
  docker: detectorSection({}, "The Docker engine."),
  ec2: detectorSection(
    {
      tags: ignored(NO_TAGS),
      tags_from_imds: ignored(NO_TAGS),
      max_attempts: ignored("it is queried once"),
      max_backoff: ignored("it is queried once"),
      fail_on_missing_metadata: ignored("the agent starts in any case, and logs what was not found"),
    },
    "EC2 instances.",
  ),
  eks: detectorSection({ node_from_env_var: ignored("the node itself is queried") }, "EKS clusters."),
  lambda: detectorSection({}, "Functions of AWS Lambda."),
  gcp: googleSection(),
  gke: googleSection(),
  gce: googleSection(),
  azure: detectorSection({ tags: ignored(NO_TAGS) }, "Azure's machines."),
  aks: detectorSection({}, "AKS clusters."),
  k8snode: nodeSection(),
  k8s_node: nodeSection(),
  k8s_api: nodeSection(),
  heroku: detectorSection({}, "Heroku's dynos."),
  refresh_interval: ignored("attributes are detected once, at the start"),
  retry: ignored("every detector runs once"),
  fail_on_missing_metadata: unsupported("leave it out: the agent starts in any case, and logs what was not found"),
  ...otherSections(),
});

function otherSections(): { [Name in (typeof UNIMPLEMENTED_DETECTORS)[number]]: ReturnType<typeof ignored> } {
  const entries = UNIMPLEMENTED_DETECTORS.map((name) => [name, ignored(NOT_IMPLEMENTED)] as const);
  return Object.fromEntries(entries) as ReturnType<typeof otherSections>;
}

export type ResourceDetectionConfig = z.infer<typeof schema>;

export function isImplemented(name: string): name is ResourceDetectorName {
  return (DETECTOR_NAMES as readonly string[]).includes(name);
}
