import type { KubernetesObject } from "#net/kubernetes";
import { fieldsOf, listOf, type ObjectFields, textOf, textsOf } from "#text/json";

/** The fields that are read from an API object. Only the name is guaranteed. */
export interface MetadataObject extends KubernetesObject {
  readonly metadata: KubernetesObject["metadata"] & {
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly ownerReferences?: readonly OwnerReference[];
  };
}

interface OwnerReference {
  readonly kind?: string;
  readonly name?: string;
  readonly uid?: string;
}

/**
 * The fields of a pod that the config can ask for. All others are discarded, because there may be tens of thousands of
 * pods.
 */
export interface Pod extends MetadataObject {
  readonly nodeName: string;
  readonly hostname: string;
  readonly isOnHostNetwork: boolean;
  readonly ips: readonly string[];
  readonly startTime: string;
  readonly containers: readonly PodContainer[];
}

export interface PodContainer {
  readonly name: string;
  readonly image: string;
  readonly imageId: string;
  /** Container ids by restart count. */
  readonly ids: ReadonlyMap<number, string>;
  readonly restarts: number;
}

/** Reads the needed fields from an API object. A field of the wrong type counts as missing. */
export function readPod(object: KubernetesObject): Pod {
  const spec = fieldsOf(object, "spec");
  const status = fieldsOf(object, "status");
  const ips = [status["podIP"], ...listOf(status, "podIPs").map((each) => textOf(each, "ip"))];
  return {
    ...readMetadata(object),
    nodeName: textOf(spec, "nodeName"),
    hostname: textOf(spec, "hostname"),
    isOnHostNetwork: spec["hostNetwork"] === true,
    ips: [...new Set(ips.map((ip) => textOf(ip)).filter((ip) => ip !== ""))],
    startTime: textOf(status, "startTime"),
    containers: readContainers(spec, status),
  };
}

export function readMetadata(object: KubernetesObject): MetadataObject {
  const { name, namespace, uid, labels, annotations, ownerReferences } = object.metadata as MetadataObject["metadata"];
  return {
    metadata: {
      name,
      ...(typeof namespace === "string" && { namespace }),
      ...(typeof uid === "string" && { uid }),
      labels: textsOf(labels),
      annotations: textsOf(annotations),
      ownerReferences: listOf(ownerReferences).map((each) => {
        const { kind, name: owner, uid: ownerUid } = fieldsOf(each);
        return { kind: textOf(kind), name: textOf(owner), uid: textOf(ownerUid) };
      }),
    },
  };
}

function readContainers(spec: ObjectFields, status: ObjectFields): PodContainer[] {
  const kinds = ["initContainer", "container", "ephemeralContainer"];
  const statuses = kinds.flatMap((kind) => listOf(status, `${kind}Statuses`).map((each) => fieldsOf(each)));
  return ["containers", "initContainers", "ephemeralContainers"].flatMap((kind) =>
    listOf(spec, kind).map((each) => {
      const { name, image } = fieldsOf(each);
      const found = statuses.find((one) => one["name"] === name) ?? {};
      const restarts = Number(found["restartCount"] ?? 0);
      const last = fieldsOf(found, "lastState", "terminated");
      const ids = new Map([
        [restarts - 1, idOf(last["containerID"])],
        [restarts, idOf(found["containerID"])],
      ]);
      return { name: textOf(name), image: textOf(image), imageId: textOf(found["imageID"]), ids, restarts };
    }),
  );
}

/** Returns the id without the runtime prefix, such as `containerd://`. */
function idOf(id: unknown): string {
  return textOf(id).replace(/^[^:]*:\/\//, "");
}
