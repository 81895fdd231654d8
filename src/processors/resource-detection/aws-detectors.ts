import { KubernetesApi } from "#net/kubernetes";
import { environmentVariable } from "#system";
import { askMetadata, type Detector, type Found, type Inquiry, textOf, wordOf } from "./detector.js";

/** Detects an EC2 instance by version 2 of its metadata service. */
export const detectEc2: Detector = async (inquiry) => ({
  "cloud.provider": "aws",
  "cloud.platform": "aws_ec2",
  ...(await instanceAttributes(inquiry)),
});

/** Detects an EKS cluster, and adds attributes of the node if its metadata service answers. */
export const detectEks: Detector = async (inquiry): Promise<Found> => {
  if (!(await isEks(inquiry))) return {};
  const node = await instanceAttributes(inquiry).catch(() => ({}));
  return { "cloud.provider": "aws", "cloud.platform": "aws_eks", ...node };
};

const TOKEN_SECONDS = "60";

async function instanceAttributes(inquiry: Inquiry): Promise<Found> {
  const urlOf = (path: string) => new URL(path, inquiry.sites.linkLocal);
  const tokenUrl = urlOf("/latest/api/token");
  const ttl = { "X-aws-ec2-metadata-token-ttl-seconds": TOKEN_SECONDS };
  const token = textOf(await askMetadata(inquiry, tokenUrl, ttl, "PUT"), tokenUrl);
  const ask = (url: URL) => askMetadata(inquiry, url, { "X-aws-ec2-metadata-token": token });
  const identityUrl = urlOf("/latest/dynamic/instance-identity/document");
  const [identity, name] = await Promise.all([ask(identityUrl), ask(urlOf("/latest/meta-data/hostname"))]);
  textOf(identity, identityUrl);
  const { json } = identity;
  return {
    "cloud.account.id": wordOf(json["accountId"]),
    "cloud.availability_zone": wordOf(json["availabilityZone"]),
    "cloud.region": wordOf(json["region"]),
    "host.id": wordOf(json["instanceId"]),
    "host.image.id": wordOf(json["imageId"]),
    "host.name": name.status === 200 ? wordOf(name.text.trim()) : undefined,
    "host.type": wordOf(json["instanceType"]),
  };
}

async function isEks({ sites, abort }: Inquiry): Promise<boolean> {
  if (environmentVariable("KUBERNETES_SERVICE_HOST") === undefined) return false;
  if (environmentVariable("AWS_WEB_IDENTITY_TOKEN_FILE")?.includes("eks.amazonaws.com")) return true;
  if (environmentVariable("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE")?.includes("eks-pod-identity")) return true;
  const version = (await new KubernetesApi({ apiServer: sites.kubernetes }).get("/version", abort)) as {
    readonly gitVersion?: unknown;
  } | null;
  return wordOf(version?.gitVersion)?.includes("-eks-") ?? false;
}
