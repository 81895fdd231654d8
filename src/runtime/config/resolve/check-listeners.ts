import type { Listener } from "#contract/built-in";
import type { ConfigPath } from "#contract/schema";
import { formatAddress, type HostPort, isLoopbackHost, type ListenAddress, parseHostPort, protectionOf } from "#net";
import type { ServiceSettings } from "../schema/service-schema.js";
import type { Findings } from "../text/findings.js";
import { locatePath, type MapNode } from "../text/node.js";
import { placeText } from "../text/problem.js";

/** An address that something listens on, and its owner. */
export interface ConfiguredListener {
  /** For example `receiver "otlp"`. */
  readonly owner: string;
  readonly address: ListenAddress;
  readonly transport?: Listener["transport"];
  /**
   * Path of the address in the config, even if it is a default. Undefined for an owner that is not in the config at
   * all.
   */
  readonly path: ConfigPath | undefined;
  readonly protection?: Listener["protection"];
}

/**
 * The addresses that a component listens on. `base` is the component's path in the config; undefined if it is not
 * there.
 */
export function componentListeners(
  owner: string,
  base: ConfigPath | undefined,
  listeners: readonly Listener[],
): ConfiguredListener[] {
  return listeners.map(({ key, ...listener }) => ({ owner, ...listener, path: base && [...base, ...key] }));
}

export const OWN_METRICS = "the endpoint of the agent's own metrics";
const METRICS_PATH = ["service", "telemetry", "metrics"];

/**
 * The addresses where the agent's own metrics can be scraped. With `addDefaults`, includes the default address if none
 * is configured.
 */
export function metricListeners({ telemetry }: ServiceSettings, addDefaults: boolean): ConfiguredListener[] {
  const { level, address, readers } = telemetry.metrics;
  if (level === "none") return [];
  const listener = (endpoint: HostPort | undefined, path: ConfigPath | undefined, keys = {}): ConfiguredListener[] =>
    endpoint ? [{ owner: OWN_METRICS, address: endpoint, path, protection: protectionOf(keys) }] : [];
  if (address === undefined && readers === undefined)
    return addDefaults ? listener({ host: "127.0.0.1", port: 8888 }, undefined) : [];
  const pulled = (readers ?? []).flatMap(({ pull }, index) => {
    const path = [...METRICS_PATH, "readers", index, "pull", "exporter", "prometheus", "port"];
    const { prometheus } = pull?.exporter ?? {};
    return listener(prometheus, path, prometheus);
  });
  return [...listener(parseHostPort(address ?? ""), [...METRICS_PATH, "address"]), ...pulled];
}

/**
 * Reports addresses that are used twice, because the second listener could not start. Port 0 never conflicts. A
 * listener that runs by default gives way to one in the config: returns the owners of such listeners, which must run
 * without them.
 */
export function checkListeners(
  listeners: readonly ConfiguredListener[],
  root: MapNode,
  findings: Findings,
): ReadonlySet<string> {
  const displaced = new Set<string>();
  const written = listeners.filter((listener) => listener.path !== undefined);
  for (const unwritten of listeners.filter((listener) => listener.path === undefined)) {
    const taker = written.find((other) => overlap(other, unwritten));
    if (taker === undefined) continue;
    displaced.add(unwritten.owner);
    warnOfDisplaced(unwritten, taker, root, findings);
  }
  written.forEach((listener, index) => {
    const earlier = written.slice(0, index).find((other) => overlap(other, listener));
    if (earlier !== undefined) report(listener, earlier, root, findings);
  });
  return displaced;
}

/** Warns about listeners without TLS or authentication that other machines may reach. */
export function warnOfOpenListeners(listeners: readonly ConfiguredListener[], root: MapNode, findings: Findings): void {
  for (const { owner, address, path, protection } of listeners) {
    if (protection === undefined || path === undefined || "path" in address || isLoopbackHost(address.host)) continue;
    const missing = [...(protection.tls ? [] : ["tls"]), ...(protection.auth ? [] : ["auth"])];
    if (missing.length === 0) continue;
    const message = `${owner} listens on ${formatAddress(address)}, which other machines may reach, without ${missing.join(" and ")}`;
    const { place } = locatePath(root, path);
    const suggestion = "see docs/how-to/authentication.md, or listen on 127.0.0.1";
    const problem = { severity: "warning", code: "open_listener", place, path: path.join("."), message } as const;
    findings.problems.push({ ...problem, suggestion });
  }
}

function report(
  { owner, address, path }: ConfiguredListener,
  other: ConfiguredListener,
  root: MapNode,
  findings: Findings,
): void {
  const where = placeText(locatePath(root, other.path!).place);
  const message = `${owner} cannot listen on ${formatAddress(address)}: ${other.owner} listens on ${formatAddress(other.address)}, at ${where}`;
  const problem = { severity: "error", code: "address_taken", ...placed(root, path!), message } as const;
  findings.problems.push({ ...problem, suggestion: "give one of them another port" });
}

function warnOfDisplaced(
  { owner, address }: ConfiguredListener,
  taker: ConfiguredListener,
  root: MapNode,
  findings: Findings,
): void {
  const message = `${taker.owner} listens on ${formatAddress(taker.address)}, so ${owner}, which listens on ${formatAddress(address)} by default, is not available`;
  const problem = { severity: "warning", code: "address_taken", ...placed(root, taker.path!), message } as const;
  findings.problems.push({ ...problem, suggestion: "configure another port for it" });
}

function placed(root: MapNode, path: ConfigPath) {
  return { place: locatePath(root, path).place, path: path.join(".") };
}

type Address = Pick<ConfiguredListener, "address" | "transport">;

/** Whether only one of the two can listen. Port 0 never conflicts. */
export function overlap({ address: a, ...one }: Address, { address: b, ...other }: Address): boolean {
  if (one.transport !== other.transport) return false;
  if ("path" in a || "path" in b) return "path" in a && "path" in b && a.path === b.path;
  return a.port === b.port && a.port !== 0 && hostsOverlap(a.host, b.host);
}

function hostsOverlap(a: string | undefined, b: string | undefined): boolean {
  return isEveryHost(a) || isEveryHost(b) || sameHost(a!.toLowerCase(), b!.toLowerCase());
}

function isEveryHost(host: string | undefined): boolean {
  return host === undefined || host === "0.0.0.0" || host === "::";
}

/** localhost may resolve to either loopback address. */
function sameHost(a: string, b: string): boolean {
  const isLoopback = (host: string) => host === "127.0.0.1" || host === "::1";
  return a === b || (a === "localhost" && isLoopback(b)) || (b === "localhost" && isLoopback(a));
}
