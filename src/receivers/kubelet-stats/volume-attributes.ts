import { fieldsOf, type ObjectFields, textOf } from "#text/json";
import type { KubeletAttributes } from "./config.js";

/** Volume types without any further attributes. */
const PLAIN_TYPES = ["configMap", "downwardAPI", "emptyDir", "secret", "hostPath", "local"];

/** The attributes of a pod's volume or of the persistent volume behind a claim. */
export function volumeAttributes(source: ObjectFields): KubeletAttributes {
  const plain = PLAIN_TYPES.find((type) => isWritten(source[type]));
  if (plain !== undefined) return { "k8s.volume.type": plain };
  if (isWritten(source["persistentVolumeClaim"])) {
    const claim = textOf(source, "persistentVolumeClaim", "claimName");
    return { "k8s.volume.type": "persistentVolumeClaim", "k8s.persistentvolumeclaim.name": claim };
  }
  if (isWritten(source["awsElasticBlockStore"]))
    return diskAttributes(source, "awsElasticBlockStore", "volumeID", "aws.volume.id");
  if (isWritten(source["gcePersistentDisk"]))
    return diskAttributes(source, "gcePersistentDisk", "pdName", "gce.pd.name");
  if (!isWritten(source["glusterfs"])) return {};
  return {
    "k8s.volume.type": "glusterfs",
    "glusterfs.endpoints.name": textOf(source, "glusterfs", "endpoints"),
    "glusterfs.path": textOf(source, "glusterfs", "path"),
  };
}

function diskAttributes(
  source: ObjectFields,
  type: string,
  idField: string,
  idAttribute: "aws.volume.id" | "gce.pd.name",
): KubeletAttributes {
  const disk = fieldsOf(source[type]);
  const { partition } = disk;
  return {
    "k8s.volume.type": type,
    [idAttribute]: textOf(disk, idField),
    "fs.type": textOf(disk, "fsType"),
    partition: Number.isSafeInteger(partition) ? String(partition) : "0",
  };
}

function isWritten(value: unknown): boolean {
  return typeof value === "object" && value !== null;
}
