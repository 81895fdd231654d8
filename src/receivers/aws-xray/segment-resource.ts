import {
  integerIn,
  listIn,
  membersIn,
  type SegmentAttributes,
  type SegmentMembers,
  set,
  textIn,
} from "./segment-members.js";

/** Members of objects in `aws`, and the attributes of a resource that they stand for. */
const RESOURCE_MEMBERS: Readonly<Record<string, readonly (readonly [member: string, key: string])[]>> = {
  ec2: [
    ["availability_zone", "cloud.availability_zone"],
    ["instance_id", "host.id"],
    ["instance_size", "host.type"],
    ["ami_id", "host.image.id"],
  ],
  ecs: [
    ["container", "container.name"],
    ["availability_zone", "cloud.availability_zone"],
    ["container_id", "container.id"],
  ],
  elastic_beanstalk: [
    ["environment_name", "service.namespace"],
    ["version_label", "service.version"],
  ],
  eks: [
    ["container_id", "container.id"],
    ["cluster_name", "k8s.cluster.name"],
    ["pod", "k8s.pod.name"],
  ],
};
const RESOURCE_PARTS = Object.entries(RESOURCE_MEMBERS);

/** Adds what a segment says about its service. Its subsegments share the resource. */
export function addResource(attributes: SegmentAttributes, segment: SegmentMembers): void {
  set(attributes, "service.name", textIn(segment, "name"));
  const aws = membersIn(segment, "aws");
  attributes.set("cloud.provider", aws === undefined ? "unknown" : "aws");
  if (aws !== undefined) addAws(attributes, aws, segment);
  set(attributes, "service.version", textIn(membersIn(segment, "service") ?? {}, "version"));
  set(attributes, "aws.xray.resource_arn", textIn(segment, "resource_arn"));
}

function addAws(attributes: SegmentAttributes, aws: SegmentMembers, segment: SegmentMembers): void {
  set(attributes, "cloud.account.id", textIn(aws, "account_id"));
  const groups = listIn(aws, "cloudwatch_logs");
  addList(attributes, "aws.log.group.arns", groups, "arn");
  addList(attributes, "aws.log.group.names", groups, "log_group");
  for (const [part, members] of RESOURCE_PARTS) {
    const from = membersIn(aws, part);
    if (from === undefined) continue;
    for (const [member, key] of members) set(attributes, key, textIn(from, member));
    if (part === "elastic_beanstalk")
      set(attributes, "service.instance.id", integerIn(from, "deployment_id")?.toString());
  }
  addSdk(attributes, membersIn(aws, "xray") ?? {}, segment);
}

function addList(attributes: SegmentAttributes, key: string, from: readonly SegmentMembers[], member: string): void {
  const texts = from.map((each) => textIn(each, member)).filter((text) => text !== undefined);
  if (texts.length > 0) attributes.set(key, texts);
}

/** The name of an SDK says its language, such as `X-Ray for Go`. As in the Collector, exceptions are those of Java. */
function addSdk(attributes: SegmentAttributes, xray: SegmentMembers, segment: SegmentMembers): void {
  set(attributes, "telemetry.sdk.version", textIn(xray, "sdk_version"));
  const sdk = textIn(xray, "sdk");
  if (sdk === undefined) return;
  attributes.set("telemetry.sdk.name", sdk);
  const { cause } = segment;
  const hasExceptions =
    typeof cause === "object" && cause !== null && listIn(cause as SegmentMembers, "exceptions").length > 0;
  const at = sdk.indexOf("for ");
  if (hasExceptions) attributes.set("telemetry.sdk.language", "java");
  else if (at >= 0) attributes.set("telemetry.sdk.language", sdk.slice(at + 4));
}
