import type { ExporterStatus, NodeCounts, ReceiverStatus, Traffic } from "#contract/operations";

type ExporterState = ExporterStatus["state"];
type BreakerStatus = ExporterStatus["breaker"];

/** The exporters of all workers, each once, in the order of the first worker. */
export function mergeExporters(readings: readonly (readonly ExporterStatus[])[]): readonly ExporterStatus[] {
  return [...groupById(readings.flat()).values()].map(mergeExporter);
}

/**
 * One status for an exporter that runs in several workers. Amounts are added up, and of times the earliest or the last
 * one counts, whichever the name of the key asks for. Each other choice has its reason beside it.
 */
function mergeExporter(parts: OneOrMore<ExporterStatus>): ExporterStatus {
  const [first] = parts;
  if (parts.length === 1) return first;
  const refused = mergeRefused(parts);
  return {
    id: first.id,
    state: mergeStates(parts),
    // An operator who paused it wants to know whether anything is still sent.
    paused: parts.every(({ paused }) => paused),
    ...(parts.every(({ removed }) => removed === true) && { removed: true }),
    breaker: mergeBreakers(parts.map(({ breaker }) => breaker)),
    ...(refused && { refused }),
    queue: mergeQueues(parts.map(({ queue }) => queue)),
    deadLetters: {
      ...sums(
        parts.map(({ deadLetters }) => deadLetters),
        ["entries", "items", "bytes"],
      ),
      oldestAt: least(parts.map(({ deadLetters }) => deadLetters.oldestAt)),
    },
    lastSentAt: greatest(parts.map(({ lastSentAt }) => lastSentAt)),
    lastError: latest(parts.map(({ lastError }) => lastError)),
    failureRate: mergeFailureRates(parts),
    recentCalls: callsOf(parts),
    failureTrend: mergeTrends(parts),
    // Each worker replays at its own rate, all together at the sum.
    replayRate: rounded(parts.reduce((sum, { replayRate }) => sum + replayRate, 0)),
  };
}

/** It is down if it is down in all workers. If only some are well, a part of the data does not arrive. */
function mergeStates(parts: readonly { readonly state: ExporterState }[]): ExporterState {
  const states = new Set(parts.map(({ state }) => state));
  return states.size === 1 ? parts[0]!.state : "DEGRADED";
}

/** The worst state, and since when the first worker is in it. It is forced only if it is forced everywhere. */
function mergeBreakers(breakers: readonly BreakerStatus[]): BreakerStatus {
  const order = ["open", "half_open", "closed"] as const;
  const state = order.find((each) => breakers.some((breaker) => breaker.state === each))!;
  const worst = breakers.filter((breaker) => breaker.state === state);
  const probeAt = least(worst.map((breaker) => breaker.probeAt));
  return {
    state,
    forced: breakers.every(({ forced }) => forced),
    since: Math.min(...worst.map(({ since }) => since)),
    ...(probeAt !== undefined && { probeAt }),
  };
}

/** The refusal that began first tells why. */
function mergeRefused(parts: readonly ExporterStatus[]): ExporterStatus["refused"] {
  const all = parts.flatMap(({ refused }) => (refused === undefined ? [] : [refused]));
  const [first] = all.sort((a, b) => a.since - b.since);
  return first && { ...first, signals: [...new Set(all.flatMap(({ signals }) => signals))] };
}

function mergeQueues(queues: readonly ExporterStatus["queue"][]): ExporterStatus["queue"] {
  const retries = queues.flatMap((queue) => (queue.retries === undefined ? [] : [queue.retries]));
  const writeError = queues.find((queue) => queue.writeError !== undefined)?.writeError;
  return {
    enabled: queues.some(({ enabled }) => enabled),
    ...sums(queues, ["entries", "items", "bytes", "inFlight"]),
    oldestAt: least(queues.map(({ oldestAt }) => oldestAt)),
    ...(retries.length > 0 && {
      retries: { ...sums(retries, ["entries"]), nextAt: Math.min(...retries.map(({ nextAt }) => nextAt)) },
    }),
    ...(writeError && { writeError }),
  };
}

/** The share of failed calls among those of all workers. */
function mergeFailureRates(parts: readonly ExporterStatus[]): number {
  const calls = callsOf(parts);
  if (calls === 0) return 0;
  return parts.reduce((failed, { failureRate, recentCalls = 0 }) => failed + failureRate * recentCalls, 0) / calls;
}

function callsOf(parts: readonly ExporterStatus[]): number {
  return parts.reduce((sum, { recentCalls = 0 }) => sum + recentCalls, 0);
}

/** It rises if it rises anywhere. */
function mergeTrends(parts: readonly ExporterStatus[]): ExporterStatus["failureTrend"] {
  const order = ["rising", "falling"] as const;
  return order.find((trend) => parts.some(({ failureTrend }) => failureTrend === trend)) ?? "steady";
}

/** The receivers of all workers, each once. */
export function mergeReceivers(readings: readonly (readonly ReceiverStatus[])[]): readonly ReceiverStatus[] {
  return [...groupById(readings.flat()).values()].map(mergeReceiver);
}

function mergeReceiver(parts: OneOrMore<ReceiverStatus>): ReceiverStatus {
  const [first] = parts;
  if (parts.length === 1) return first;
  const { id } = first;
  const lags = parts.flatMap(({ lag }) => (lag === undefined ? [] : [lag]));
  const lastMessageAt = greatest(parts.map((part) => part.lastMessageAt));
  const lastError = latest(parts.map((part) => part.lastError));
  const facts = parts.flatMap((part) => (part.facts === undefined ? [] : [part.facts]));
  return {
    id,
    state: mergeStates(parts),
    ...(lastMessageAt !== undefined && { lastMessageAt }),
    ...(lastError && { lastError }),
    ...(lags.length > 0 && { lag: mergeLags(id, lags) }),
    reconnects: parts.reduce((sum, { reconnects }) => sum + reconnects, 0),
    down: [...new Set(parts.flatMap(({ down }) => down))],
    ...(facts.length > 0 && { facts: Object.assign({}, ...facts) as NonNullable<ReceiverStatus["facts"]> }),
  };
}

/** Kafka gives each consumer its own partitions. Any other source tells each worker the same number. */
function mergeLags(id: string, lags: readonly number[]): number {
  return /^kafka(\/|$)/.test(id) ? lags.reduce((sum, lag) => sum + lag, 0) : Math.max(...lags);
}

const NODE_COUNTS = ["in", "out", "dropped", "refused", "failed"] as const satisfies readonly (keyof NodeCounts)[];

/** The numbers of records of all workers together. */
export function addTraffic(readings: readonly Traffic[]): Traffic {
  const edges = new Map<string, number>();
  const nodes = new Map<string, NodeCounts>();
  for (const traffic of readings) {
    for (const [id, count] of traffic.edges) edges.set(id, (edges.get(id) ?? 0) + count);
    for (const [id, counts] of traffic.nodes) {
      const before = nodes.get(id);
      nodes.set(id, before === undefined ? counts : sums([before, counts], NODE_COUNTS));
    }
  }
  return { edges, nodes };
}

/** Adds up these keys. */
export function sums<Key extends string>(
  parts: readonly Readonly<Record<Key, number>>[],
  keys: readonly Key[],
): Record<Key, number> {
  const total = (key: Key) => parts.reduce((sum, part) => sum + part[key], 0);
  return Object.fromEntries(keys.map((key) => [key, total(key)])) as Record<Key, number>;
}

/** The parts of one thing, of which at least one worker has one. */
export type OneOrMore<T> = readonly [T, ...T[]];

export function groupById<T extends { readonly id: string }>(all: readonly T[]): Map<string, OneOrMore<T>> {
  const groups = new Map<string, [T, ...T[]]>();
  for (const each of all) {
    const group = groups.get(each.id);
    if (group === undefined) groups.set(each.id, [each]);
    else group.push(each);
  }
  return groups;
}

export function least(times: readonly (number | undefined)[]): number | undefined {
  const known = times.filter((time) => time !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
}

export function greatest(times: readonly (number | undefined)[]): number | undefined {
  const known = times.filter((time) => time !== undefined);
  return known.length === 0 ? undefined : Math.max(...known);
}

function latest<T extends { readonly at: number }>(events: readonly (T | undefined)[]): T | undefined {
  return events.reduce((last, event) => (event !== undefined && event.at >= (last?.at ?? 0) ? event : last), undefined);
}

/** Shares of a rate do not always add up to it exactly. */
export function rounded(rate: number): number {
  return Math.round(rate * 1e6) / 1e6;
}
