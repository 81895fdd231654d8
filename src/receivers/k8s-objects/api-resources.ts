import type { KubernetesApi } from "#net/kubernetes";
import { listOf, textOf } from "#text/json";

/** A list of the API server: the path of its group and version, and its name. */
export interface ApiResource {
  readonly group: string;
  readonly name: string;
}

/** Finds the lists of the API server by their names. Each group is asked for at most once. */
export class ApiResources {
  private readonly api: KubernetesApi;
  private readonly known = new Map<string, Promise<ReadonlySet<string>>>();
  private groups: Promise<readonly { readonly name: string; readonly path: string }[]> | undefined;

  constructor(api: KubernetesApi) {
    this.api = api;
  }

  /** Returns undefined if no group has it. With a group that does not have it, another one is taken that does. */
  async find(name: string, group: string, abort: AbortSignal): Promise<ApiResource | undefined> {
    this.groups ??= this.listGroups(abort);
    const groups = await this.groups;
    const preferred = groups.filter((each) => each.name === group);
    for (const { path } of [...preferred, ...groups])
      if ((await this.namesOf(path, abort)).has(name)) return { group: path, name };
    return undefined;
  }

  private async listGroups(abort: AbortSignal) {
    const answer = await this.api.get("/apis", abort);
    const others = listOf(answer, "groups").map((group) => ({
      name: textOf(group, "name"),
      path: `/apis/${textOf(group, "preferredVersion", "groupVersion")}`,
    }));
    return [{ name: "", path: "/api/v1" }, ...others];
  }

  private namesOf(path: string, abort: AbortSignal): Promise<ReadonlySet<string>> {
    let names = this.known.get(path);
    if (names === undefined) {
      // The server of one group may be away; the others still answer.
      names = this.api.get(path, abort).then(
        (answer) => new Set(listOf(answer, "resources").map((each) => textOf(each, "name"))),
        () => new Set<string>(),
      );
      this.known.set(path, names);
    }
    return names;
  }
}
