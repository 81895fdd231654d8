import type { Labels } from "../relabel.js";

/** A way to find targets. */
export interface Discovery {
  /** `update` is called with all targets that it knows, by their labels, now or later, and after every change. */
  start(update: (targets: readonly Labels[]) => void): void;
  stop(): void | Promise<void>;
}

/** Targets that share labels, as files and servers write them. */
export interface TargetGroup {
  readonly targets: readonly string[];
  readonly labels?: Readonly<Record<string, string>> | undefined;
}

export function targetsOf(groups: readonly TargetGroup[], more: Readonly<Record<string, string>> = {}): Labels[] {
  return groups.flatMap(({ targets, labels }) =>
    targets.map((address): Labels => new Map([...Object.entries({ ...more, ...labels }), ["__address__", address]])),
  );
}

/** Targets that the config has. */
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
