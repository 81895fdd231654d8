import { environmentVariable } from "#system";
import { nonEmptyText } from "#text/json";
import { askMetadata, type DetectedAttributes, type DetectionContext, type Detector } from "./detector.js";

/** Detects Google Cloud: virtual machines, GKE, Cloud Run, Cloud Functions and App Engine. */
export const detectGcp: Detector = async (context): Promise<DetectedAttributes> => {
  const ask = (path: string) => askGoogle(context, path);
  const project = await ask("project/project-id");
  const platform = await platformAttributes(ask);
  return { "cloud.provider": "gcp", "cloud.account.id": project, ...platform };
};

type Ask = (path: string) => Promise<string | undefined>;

async function platformAttributes(ask: Ask): Promise<DetectedAttributes> {
  const variable = environmentVariable;
  if (variable("KUBERNETES_SERVICE_HOST") !== undefined) {
    const location = await ask("instance/attributes/cluster-location");
    if (location !== undefined) return clusterAttributes(ask, location);
  }
  const job = variable("CLOUD_RUN_JOB");
  const [isFunction, isRun] = [variable("FUNCTION_TARGET") !== undefined, variable("K_CONFIGURATION") !== undefined];
  if (isFunction || isRun || job !== undefined) {
    const [instance, region] = await Promise.all([ask("instance/id"), ask("instance/region")]);
    return {
      "cloud.platform": isFunction ? "gcp_cloud_functions" : "gcp_cloud_run",
      "cloud.region": lastPart(region),
      "faas.name": variable("K_SERVICE") ?? job,
      "faas.version": variable("K_REVISION"),
      "faas.instance": instance,
      "gcp.cloud_run.job.execution": variable("CLOUD_RUN_EXECUTION"),
      "gcp.cloud_run.job.task_index": variable("CLOUD_RUN_TASK_INDEX"),
    };
  }
  const service = variable("GAE_SERVICE");
  if (service === undefined) return machineAttributes(ask);
  return {
    "cloud.platform": "gcp_app_engine",
    ...zoneAttributes(await ask("instance/zone")),
    "faas.name": service,
    "faas.version": variable("GAE_VERSION"),
    "faas.instance": variable("GAE_INSTANCE"),
  };
}

async function clusterAttributes(ask: Ask, location: string): Promise<DetectedAttributes> {
  const paths = ["instance/attributes/cluster-name", "instance/id", "instance/name"];
  const [cluster, id, name] = await Promise.all(paths.map(ask));
  const isZone = location.split("-").length === 3;
  return {
    "cloud.platform": "gcp_kubernetes_engine",
    [isZone ? "cloud.availability_zone" : "cloud.region"]: location,
    "k8s.cluster.name": cluster,
    "host.id": id,
    "host.name": name,
  };
}

async function machineAttributes(ask: Ask): Promise<DetectedAttributes> {
  const paths = ["zone", "machine-type", "id", "name", "hostname", "attributes/created-by"];
  const [zone, type, id, name, fullName, maker] = await Promise.all(paths.map((path) => ask(`instance/${path}`)));
  const group = /\/(zones|regions)\/([^/]+)\/instanceGroupManagers\/([^/]+)$/.exec(maker ?? "");
  return {
    "cloud.platform": "gcp_compute_engine",
    ...zoneAttributes(zone),
    "host.type": lastPart(type),
    "host.id": id,
    "host.name": name,
    "gcp.gce.instance.name": name,
    "gcp.gce.instance.hostname": fullName,
    "gcp.gce.instance_group_manager.name": group?.[3],
    "gcp.gce.instance_group_manager.zone": group?.[1] === "zones" ? group[2] : undefined,
    "gcp.gce.instance_group_manager.region": group?.[1] === "regions" ? group[2] : undefined,
  };
}

/** Takes a path such as projects/123/zones/europe-west1-b. */
function zoneAttributes(path: string | undefined): DetectedAttributes {
  const zone = lastPart(path);
  return { "cloud.availability_zone": zone, "cloud.region": zone?.replace(/-[^-]+$/, "") };
}

function lastPart(path: string | undefined): string | undefined {
  return path?.slice(path.lastIndexOf("/") + 1);
}

/**
 * Returns undefined for values that the server does not have. A server that does not identify itself as Google's is not
 * trusted.
 */
async function askGoogle(context: DetectionContext, path: string): Promise<string | undefined> {
  const url = new URL(`/computeMetadata/v1/${path}`, context.endpoints.google);
  const { status, headers, text } = await askMetadata(context, url, { "Metadata-Flavor": "Google" });
  if (headers.get("metadata-flavor") !== "Google") throw new Error(`${url.origin} is not a metadata server of Google`);
  if (status === 404) return undefined;
  if (status !== 200) throw new Error(`${url.origin}${url.pathname} answered HTTP ${status}`);
  return nonEmptyText(text.trim());
}
