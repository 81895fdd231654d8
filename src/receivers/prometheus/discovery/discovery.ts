import { z } from "zod";
import type { Labels } from "../relabel.js";
import { textMap } from "../schema.js";

/** Finds targets. */
export interface Discovery {
  /** Calls `update` with the labels of all known targets, at once or later, and again after every change. */
  start(update: (targets: readonly Labels[]) => void): void;
  stop(): void | Promise<void>;
}

/** Targets with common labels, as files and servers list them. */
interface TargetGroup {
  readonly targets: readonly string[];
  readonly labels?: Readonly<Record<string, string>> | undefined;
}

export function targetsOf(groups: readonly TargetGroup[], more: Readonly<Record<string, string>> = {}): Labels[] {
  return groups.flatMap(({ targets, labels }) =>
    targets.map((address): Labels => new Map([...Object.entries({ ...more, ...labels }), ["__address__", address]])),
  );
}

/** Targets listed in the config. */
export class StaticDiscovery implements Discovery {
  private readonly groups: readonly TargetGroup[];

  constructor(groups: readonly TargetGroup[]) {
    this.groups = groups;
  }

  start(update: (targets: readonly Labels[]) => void): void {
    update(targetsOf(this.groups));
  }

  stop(): void {}
}

const groups = z.array(
  z.looseObject({ targets: z.array(z.string()).nullish(), labels: textMap() }).transform(({ targets, labels }) => ({
    targets: targets ?? [],
    labels,
  })),
);

/** Reads a list of target groups from a file or a server. Throws an error that names the invalid place. */
export function readTargetGroups(value: unknown): TargetGroup[] {
  const read = groups.safeParse(value ?? []);
  if (read.success) return read.data;
  const { path, message } = read.error.issues[0]!;
  throw new Error(`it is not a list of targets and labels: ${path.join(".")}: ${message}`);
}
