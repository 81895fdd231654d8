import type { Tree } from "../../../../src/plugin.js";
import type { ThresholdSamplerSettings } from "../../../../src/processors/sampling/probabilistic/threshold-sampler.js";

export type SampledSignal = "logs" | "traces";

export const LISTS = {
  logs: ["resourceLogs", "scopeLogs", "logRecords"],
  traces: ["resourceSpans", "scopeSpans", "spans"],
} as const;

const ALL = 2n ** 56n;

/** Samples a tree of plain records by the Collector's rules, with big integers. */
export function naively(signal: SampledSignal, own: ThresholdSamplerSettings, tree: Tree) {
  const [outer, inner, list] = LISTS[signal];
  const told: Record<string, number> = {};
  const withRecords = (message: Tree, name: string, items: Tree[] | undefined): Tree[] =>
    items === undefined
      ? [message]
      : items.length === 0 && lengthOf(message[name]) > 0
        ? []
        : [{ ...message, [name]: items }];
  const decided = (record: Tree): Tree[] => {
    const { policy, stamp } = decisionOn(signal, own, record);
    told[`${policy} ${stamp !== undefined}`] = (told[`${policy} ${stamp !== undefined}`] ?? 0) + 1;
    return stamp === undefined ? [] : [stamped(signal, record, stamp)];
  };
  const each = (items: unknown, change: (item: Tree) => Tree[]) => (items as Tree[] | undefined)?.flatMap(change);
  const containers = each(tree[outer], (container) =>
    withRecords(
      container,
      inner,
      each(container[inner], (scope) => withRecords(scope, list, each(scope[list], decided))),
    ),
  );
  return { told, tree: containers === undefined || containers.length === 0 ? {} : { [outer]: containers } };
}

const lengthOf = (items: unknown) => (items as unknown[] | undefined)?.length ?? 0;

interface Stamp {
  readonly randomness: string;
  readonly threshold: string;
}

/** Returns the randomness of a plain record, and the attributes written on it if it is kept. */
function decisionOn(
  signal: SampledSignal,
  own: ThresholdSamplerSettings,
  record: Tree,
): { policy: string; stamp: Stamp | undefined } {
  const isHash = own.mode === "hash_seed";
  const scaled = Math.trunc(Math.fround(Math.fround(Math.min(100, own.percentage)) * Math.fround(16384 / 100)));
  if (own.percentage === 0 || (isHash && scaled === 0)) return { policy: "sampling_priority", stamp: undefined };
  const { policy, randomness } = randomnessOf(signal, own, record);
  if (randomness === undefined) {
    const missing = isHash && signal === "traces" ? "f".repeat(14) : "";
    return { policy, stamp: own.failClosed ? undefined : { randomness: missing, threshold: "0" } };
  }
  const threshold = isHash ? BigInt(16384 - scaled) << 42n : consistentThreshold(own);
  const digits = threshold.toString(16).padStart(14, "0").replace(/0+$/, "") || "0";
  const written = isHash ? randomness.toString(16).padStart(14, "0") : "";
  return { policy, stamp: randomness < threshold ? undefined : { randomness: written, threshold: digits } };
}

/** For shares with few digits, or so small that the precision 1 gives the value computed here. */
export function consistentThreshold({ percentage, precision }: ThresholdSamplerSettings): bigint {
  const share = Math.fround(Math.min(100, percentage)) / 100;
  const exact = ALL - BigInt(Math.round(share * Number(ALL)));
  const zeros = share < 0.0001 ? 4 : 0;
  const shift = BigInt(4 * Math.max(0, 14 - precision - zeros));
  return shift === 0n ? exact : ((exact + (1n << (shift - 1n))) >> shift) << shift;
}

function randomnessOf(signal: SampledSignal, own: ThresholdSamplerSettings, record: Tree) {
  const id = record["traceId"] as Uint8Array | undefined;
  const hasId = id?.length === 16 && id.some((byte) => byte !== 0);
  if (own.mode !== "hash_seed") {
    if (!hasId) return { policy: "missing_randomness", randomness: undefined };
    return { policy: "trace_id_w3c", randomness: BigInt(`0x${Buffer.from(id.subarray(9)).toString("hex")}`) };
  }
  if (hasId && (signal === "traces" || own.fromTraceId))
    return { policy: "trace_id_hash", randomness: hashed(own.seed, id) };
  const attributes = (record["attributes"] ?? []) as { key?: string; value?: { stringValue?: string } }[];
  const source =
    signal === "logs" && own.fromAttribute !== ""
      ? attributes.find(({ key }) => key === own.fromAttribute)?.value?.stringValue
      : undefined;
  if (source === undefined || source === "") return { policy: "missing_randomness", randomness: undefined };
  return { policy: own.fromAttribute, randomness: hashed(own.seed, Buffer.from(source)) };
}

/** 32-bit FNV-1a of seed and bytes; the bucket counted from the end, then the rest of the hash, then the bucket. */
export function hashed(seed: number, bytes: Uint8Array): bigint {
  let hash = 0x811c9dc5n;
  const seedBytes = Buffer.alloc(4);
  seedBytes.writeUInt32LE(seed);
  for (const byte of [...seedBytes, ...bytes]) hash = ((hash ^ BigInt(byte)) * 0x01000193n) % 2n ** 32n;
  const bucket = hash % 16384n;
  const rest = hash >> 18n;
  return ((16383n - bucket) << 42n) | ((rest ^ (rest << 10n)) << 14n) | bucket;
}

function stamped(signal: SampledSignal, record: Tree, { randomness, threshold }: Stamp): Tree {
  if (signal === "traces")
    return { ...record, traceState: `ot=${randomness === "" ? "" : `rv:${randomness};`}th:${threshold}` };
  const texts = [["sampling.randomness", randomness] as const, ["sampling.threshold", threshold] as const];
  const added = texts.filter(([, of]) => of !== "").map(([key, of]) => ({ key, value: { stringValue: of } }));
  return { ...record, attributes: [...((record["attributes"] ?? []) as Tree[]), ...added] } as Tree;
}
