import { detectEc2, detectEks } from "./aws-detectors.js";
import { detectAks, detectAzure } from "./azure-detectors.js";
import type { ResourceDetectorName } from "./config.js";
import type { Detector } from "./detector.js";
import { detectEnv, detectHeroku, detectLambda } from "./environment-detectors.js";
import { detectGcp } from "./gcp-detector.js";
import { detectDocker, detectKubernetesNode } from "./node-detectors.js";
import { detectSystem } from "./system-detector.js";

/**
 * The attributes that a detector may find: `enabledByDefault` ones are added unless the config turns them off, others only if it
 * turns them on.
 */
interface DetectorEntry {
  readonly detect: Detector;
  readonly enabledByDefault: readonly string[];
  readonly disabledByDefault: readonly string[];
}

const CLOUD = ["cloud.provider", "cloud.platform"];
const PLACE = ["cloud.account.id", "cloud.availability_zone", "cloud.region"];
const INSTANCE = [...PLACE, "host.id", "host.image.id", "host.name", "host.type"];

const GCP: DetectorEntry = {
  detect: detectGcp,
  enabledByDefault: [
    ...CLOUD,
    ...PLACE,
    "host.id",
    "host.name",
    "host.type",
    "k8s.cluster.name",
    "faas.name",
    "faas.version",
    "faas.instance",
    "gcp.cloud_run.job.execution",
    "gcp.cloud_run.job.task_index",
    ...["name", "region", "zone"].map((part) => `gcp.gce.instance_group_manager.${part}`),
  ],
  disabledByDefault: ["gcp.gce.instance.name", "gcp.gce.instance.hostname"],
};

const kubernetesNode = (section: "k8snode" | "k8s_node" | "k8s_api"): DetectorEntry => ({
  detect: detectKubernetesNode(section),
  enabledByDefault: ["k8s.node.name", "k8s.node.uid"],
  disabledByDefault: [],
});

/**
 * Detectors by name, with the Collector's defaults. `env` is missing because it adds whatever its variable contains.
 */
export const DETECTORS: Readonly<Record<Exclude<ResourceDetectorName, "env">, DetectorEntry>> = {
  system: {
    detect: detectSystem,
    enabledByDefault: ["host.name", "os.type"],
    disabledByDefault: [
      "host.arch",
      "host.id",
      "host.interface",
      "host.ip",
      "host.mac",
      "os.build.id",
      "os.description",
      "os.name",
      "os.version",
      ...["vendor.id", "family", "model.id", "model.name", "stepping", "cache.l2.size"].map(
        (part) => `host.cpu.${part}`,
      ),
    ],
  },
  docker: { detect: detectDocker, enabledByDefault: ["host.name", "os.type"], disabledByDefault: [] },
  ec2: { detect: detectEc2, enabledByDefault: [...CLOUD, ...INSTANCE], disabledByDefault: [] },
  eks: { detect: detectEks, enabledByDefault: CLOUD, disabledByDefault: INSTANCE },
  lambda: {
    detect: detectLambda,
    enabledByDefault: [
      ...CLOUD,
      "cloud.region",
      "faas.name",
      "faas.version",
      "faas.instance",
      "faas.max_memory",
      "aws.log.group.names",
      "aws.log.stream.names",
    ],
    disabledByDefault: [],
  },
  gcp: GCP,
  gke: GCP,
  gce: GCP,
  azure: {
    detect: detectAzure,
    enabledByDefault: [
      ...CLOUD,
      "cloud.account.id",
      "cloud.region",
      "host.id",
      "host.name",
      "azure.vm.name",
      "azure.vm.size",
      "azure.vm.scaleset.name",
      "azure.resourcegroup.name",
    ],
    disabledByDefault: ["cloud.availability_zone"],
  },
  aks: { detect: detectAks, enabledByDefault: CLOUD, disabledByDefault: ["k8s.cluster.name"] },
  k8snode: kubernetesNode("k8snode"),
  k8s_node: kubernetesNode("k8s_node"),
  k8s_api: kubernetesNode("k8s_api"),
  heroku: {
    detect: detectHeroku,
    enabledByDefault:
      `cloud.provider heroku.app.id heroku.release.commit heroku.release.creation_timestamp service.instance.id
      service.name service.version`.split(/\s+/),
    disabledByDefault: [],
  },
};

export { detectEnv };
