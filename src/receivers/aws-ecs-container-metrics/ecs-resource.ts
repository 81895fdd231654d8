import type { PointResource } from "#receiving";
import { type ObjectFields, textOf } from "#text/json";

/** Attributes of the task, which its containers have as well. */
export function taskResource(task: ObjectFields): PointResource {
  const text = (name: string) => textOf(task[name]);
  const arn = text("TaskARN");
  const [, region = "", account = ""] = /^arn:aws:ecs:([^:]*):([^:/]*)/.exec(arn) ?? [];
  const cluster = text("Cluster");
  const launchType = text("LaunchType");
  const isKnownType = /^(ec2|fargate)$/i.test(launchType);
  return {
    "aws.ecs.cluster.name": cluster.startsWith("arn:aws") ? lastPart(cluster) : cluster,
    "aws.ecs.task.arn": arn,
    "aws.ecs.task.id": arn.startsWith("arn:aws:ecs") ? lastPart(arn) : "",
    "aws.ecs.task.family": text("Family"),
    "aws.ecs.task.version": text("Revision"),
    "aws.ecs.task.revision": text("Revision"),
    "aws.ecs.service.name": text("ServiceName"),
    "cloud.availability_zone": text("AvailabilityZone"),
    "aws.ecs.task.pull_started_at": text("PullStartedAt"),
    "aws.ecs.task.pull_stopped_at": text("PullStoppedAt"),
    "aws.ecs.task.known_status": text("KnownStatus"),
    "aws.ecs.task.launch_type": launchType,
    ...(isKnownType && { "aws.ecs.launchtype": launchType.toLowerCase() }),
    "cloud.region": region,
    "cloud.account.id": account,
  };
}

/** Attributes of a container; `aws.ecs.container.know_status` is spelt as in the Collector. */
export function containerResource(container: ObjectFields): PointResource {
  const text = (name: string) => textOf(container[name]);
  const { name, tag } = imageName(text("Image"));
  const exitCode = container["ExitCode"];
  const finishedAt = text("FinishedAt");
  return {
    "container.name": text("Name"),
    "container.id": text("DockerId"),
    "aws.ecs.docker.name": text("DockerName"),
    "container.image.name": name,
    "aws.ecs.container.image.id": text("ImageID"),
    "container.image.tag": tag,
    "aws.ecs.container.created_at": text("CreatedAt"),
    "aws.ecs.container.started_at": text("StartedAt"),
    ...(finishedAt !== "" && { "aws.ecs.container.finished_at": finishedAt }),
    "aws.ecs.container.know_status": text("KnownStatus"),
    ...(Number.isSafeInteger(exitCode) && { "aws.ecs.container.exit_code": exitCode as number }),
  };
}

function lastPart(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

/** Splits `registry:5000/shop:1.2@sha256:...` into `registry:5000/shop` and `1.2`. */
function imageName(image: string): { readonly name: string; readonly tag: string } {
  const reference = image.split("@", 1)[0]!;
  const colon = reference.indexOf(":", reference.lastIndexOf("/") + 1);
  if (colon < 0) return { name: reference, tag: reference === "" ? "" : "latest" };
  return { name: reference.slice(0, colon), tag: reference.slice(colon + 1) };
}
