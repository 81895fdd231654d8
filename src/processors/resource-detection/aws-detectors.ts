import { KubernetesApi } from "#net/kubernetes";
import { environmentVariable } from "#system";
import { nonEmptyText } from "#text/json";
import { askMetadata, type DetectedAttributes, type DetectionContext, type Detector, textOf } from "./detector.js";

/** Detects an EC2 instance by version 2 of its metadata service. */
export const detectEc2: Detector = async (context) => ({
  "cloud.provider": "aws",
  "cloud.platform": "aws_ec2",
  ...(await instanceAttributes(context)),
});

/** Detects an EKS cluster, and adds attributes of the node if its metadata service answers. */
export const detectEks: Detector = async (context): Promise<DetectedAttributes> => {
  if (!(await isEks(context))) return {};
  const node = await instanceAttributes(context).catch(() => ({}));
  return { "cloud.provider": "aws", "cloud.platform": "aws_eks", ...node };
};

const TOKEN_SECONDS = "60";

async function instanceAttributes(context: DetectionContext): Promise<DetectedAttributes> {
  const urlOf = (path: string) => new URL(path, context.endpoints.linkLocal);
  const tokenUrl = urlOf("/latest/api/token");
  const ttl = { "X-aws-ec2-metadata-token-ttl-seconds": TOKEN_SECONDS };
  const token = textOf(await askMetadata(context, tokenUrl, ttl, "PUT"), tokenUrl);
  const ask = (url: URL) => askMetadata(context, url, { "X-aws-ec2-metadata-token": token });
  const identityUrl = urlOf("/latest/dynamic/instance-identity/document");
  const [identity, name] = await Promise.all([ask(identityUrl), ask(urlOf("/latest/meta-data/hostname"))]);
  textOf(identity, identityUrl);
  const { json } = identity;
  return {
    "cloud.account.id": nonEmptyText(json["accountId"]),
    "cloud.availability_zone": nonEmptyText(json["availabilityZone"]),
    "cloud.region": nonEmptyText(json["region"]),
    "host.id": nonEmptyText(json["instanceId"]),
    "host.image.id": nonEmptyText(json["imageId"]),
    "host.name": name.status === 200 ? nonEmptyText(name.text.trim()) : undefined,
    "host.type": nonEmptyText(json["instanceType"]),
  };
}

async function isEks({ endpoints, abort }: DetectionContext): Promise<boolean> {
  if (environmentVariable("KUBERNETES_SERVICE_HOST") === undefined) return false;
  if (environmentVariable("AWS_WEB_IDENTITY_TOKEN_FILE")?.includes("eks.amazonaws.com")) return true;
  if (environmentVariable("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE")?.includes("eks-pod-identity")) return true;
  const version = (await new KubernetesApi({ apiServer: endpoints.kubernetes }).get("/version", abort)) as {
    readonly gitVersion?: unknown;
  } | null;
  return nonEmptyText(version?.gitVersion)?.includes("-eks-") ?? false;
}
