import { isDeepStrictEqual } from "node:util";
import { metricListeners, type ResolvedConfig } from "#config/resolve";
import { type PrivilegedValue, privilegedValues } from "#config/schema";
import type { Problem } from "#config/text";
import type { ComponentFactory } from "#contract";
import type { Listener } from "#contract/built-in";
import { configSchema, glob } from "#contract/schema";
import { formatAddress, isLoopbackHost, type ListenAddress } from "#net";

/** What the check reads of a component. */
interface CheckedComponent {
  readonly factory: Pick<ComponentFactory, "type" | "schema"> & { listensAt?(config: never): readonly Listener[] };
  readonly config: unknown;
  readonly written: unknown;
  readonly path: string;
}

const SECTIONS = ["receivers", "processors", "exporters", "connectors", "extensions"] as const;
const NOTHING: ReadonlyMap<string, PrivilegedValue> = new Map();

/**
 * The privileged keys that a config from afar changes, as problems. `own` is the config of the files on this machine,
 * `whole` the same with what came from afar. `service.allow` of the own files has the keys that may change.
 */
export function privilegedChanges(own: ResolvedConfig, whole: ResolvedConfig): Problem[] {
  const allowed = own.service.allow.map(glob);
  const problems: Problem[] = [];
  const refuse = (path: string, key: string) => {
    if (allowed.some((matches) => matches(key))) return;
    const message =
      "a config from afar cannot change this key, because it names a program, a file to write, a listener or who may " +
      `use the agent; to allow it, write \`service: {allow: [${key}]}\` in a config file of this machine`;
    problems.push({ severity: "error", code: "remote_privilege", place: undefined, path, message });
  };
  if (!isDeepStrictEqual(own.service.allow, whole.service.allow)) refuse("service.allow", "service.allow");
  const ownMetrics = new Set(metricListeners(own.service, true).map(({ address }) => formatAddress(address)));
  for (const { address } of metricListeners(whole.service, true)) {
    const key = "service.telemetry.metrics";
    if (isReachable(address) && !ownMetrics.has(formatAddress(address))) refuse(key, key);
  }
  for (const section of SECTIONS) {
    const before: ReadonlyMap<string, unknown> = own[section];
    for (const [id, spec] of whole[section] as ReadonlyMap<string, CheckedComponent>) {
      const former = before.get(id) as CheckedComponent | undefined;
      const { type } = spec.factory;
      for (const key of changedKeys(former, spec)) refuse([spec.path, key].join("."), `${type}.${key}`);
      for (const key of newListeners(former, spec)) refuse([spec.path, key].join("."), `${type}.${key}`);
    }
  }
  return problems;
}

function changedKeys(former: CheckedComponent | undefined, now: CheckedComponent): Set<string> {
  const before = (former && valuesOf(former)) ?? NOTHING;
  const after = valuesOf(now) ?? NOTHING;
  const changed = new Set<string>();
  for (const path of new Set([...before.keys(), ...after.keys()])) {
    const [old, current] = [before.get(path), after.get(path)];
    if (!isDeepStrictEqual(old?.value, current?.value)) changed.add((current ?? old)!.key);
  }
  return changed;
}

function valuesOf({ factory, written }: CheckedComponent): ReadonlyMap<string, PrivilegedValue> {
  return privilegedValues(configSchema(factory.schema), written);
}

/** The keys of addresses that other machines can reach, and that the component did not listen on. */
function newListeners(former: CheckedComponent | undefined, now: CheckedComponent): Set<string> {
  const addresses = new Set(
    former === undefined ? [] : listenersOf(former).map(({ address }) => formatAddress(address)),
  );
  const added = listenersOf(now).filter(
    ({ address }) => isReachable(address) && !addresses.has(formatAddress(address)),
  );
  return new Set(added.map(({ key }) => key.join(".")));
}

function listenersOf({ factory, config }: CheckedComponent): readonly Listener[] {
  return factory.listensAt?.(config as never) ?? [];
}

/** A socket in the file system is a file to write. */
function isReachable(address: ListenAddress): boolean {
  return "path" in address || !isLoopbackHost(address.host);
}
