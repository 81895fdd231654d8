import { environmentVariable } from "#system";
import { nonEmptyText } from "#text/json";
import { askMetadata, type DetectedAttributes, type DetectionContext, type Detector, textOf } from "./detector.js";

/** Detects an Azure virtual machine. */
export const detectAzure: Detector = async (context) => {
  const compute = await askCompute(context);
  const profile = compute["osProfile"] as { readonly computerName?: unknown } | null | undefined;
  const name = nonEmptyText(compute["name"]);
  return {
    "cloud.provider": "azure",
    "cloud.platform": "azure_vm",
    "cloud.region": nonEmptyText(compute["location"]),
    "cloud.account.id": nonEmptyText(compute["subscriptionId"]),
    "cloud.availability_zone": nonEmptyText(compute["zone"]),
    "host.id": nonEmptyText(compute["vmId"]),
    "host.name": nonEmptyText(profile?.computerName) ?? name,
    "azure.vm.name": name,
    "azure.vm.size": nonEmptyText(compute["vmSize"]),
    "azure.vm.scaleset.name": nonEmptyText(compute["vmScaleSetName"]),
    "azure.resourcegroup.name": nonEmptyText(compute["resourceGroupName"]),
  };
};

/** Detects an AKS cluster. */
export const detectAks: Detector = async (context): Promise<DetectedAttributes> => {
  if (environmentVariable("KUBERNETES_SERVICE_HOST") === undefined) return {};
  const group = nonEmptyText((await askCompute(context))["resourceGroupName"]);
  return { "cloud.provider": "azure", "cloud.platform": "azure_aks", "k8s.cluster.name": group && clusterName(group) };
};

async function askCompute(context: DetectionContext): Promise<Readonly<Record<string, unknown>>> {
  const url = new URL("/metadata/instance/compute?api-version=2020-09-01&format=json", context.endpoints.linkLocal);
  const answer = await askMetadata(context, url, { Metadata: "true" });
  textOf(answer, url);
  return answer.json;
}

/**
 * AKS names the resource group of its nodes MC_<group>_<cluster>_<region>. If the name has another form, the whole name
 * is the best guess.
 */
function clusterName(group: string): string {
  const parts = group.split("_");
  return parts.length === 4 && parts[0]!.toLowerCase() === "mc" ? parts[2]! : group;
}
