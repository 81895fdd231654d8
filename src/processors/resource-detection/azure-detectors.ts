import { environmentVariable } from "#system";
import { askMetadata, type Detector, type Found, type Inquiry, textOf, wordOf } from "./detector.js";

/** Detects an Azure virtual machine. */
export const detectAzure: Detector = async (inquiry) => {
  const compute = await askCompute(inquiry);
  const profile = compute["osProfile"] as { readonly computerName?: unknown } | null | undefined;
  const name = wordOf(compute["name"]);
  return {
    "cloud.provider": "azure",
    "cloud.platform": "azure_vm",
    "cloud.region": wordOf(compute["location"]),
    "cloud.account.id": wordOf(compute["subscriptionId"]),
    "cloud.availability_zone": wordOf(compute["zone"]),
    "host.id": wordOf(compute["vmId"]),
    "host.name": wordOf(profile?.computerName) ?? name,
    "azure.vm.name": name,
    "azure.vm.size": wordOf(compute["vmSize"]),
    "azure.vm.scaleset.name": wordOf(compute["vmScaleSetName"]),
    "azure.resourcegroup.name": wordOf(compute["resourceGroupName"]),
  };
};

/** Detects an AKS cluster. */
export const detectAks: Detector = async (inquiry): Promise<Found> => {
  if (environmentVariable("KUBERNETES_SERVICE_HOST") === undefined) return {};
  const group = wordOf((await askCompute(inquiry))["resourceGroupName"]);
  return { "cloud.provider": "azure", "cloud.platform": "azure_aks", "k8s.cluster.name": group && clusterName(group) };
};

async function askCompute(inquiry: Inquiry): Promise<Readonly<Record<string, unknown>>> {
  const url = new URL("/metadata/instance/compute?api-version=2020-09-01&format=json", inquiry.sites.linkLocal);
  const answer = await askMetadata(inquiry, url, { Metadata: "true" });
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
