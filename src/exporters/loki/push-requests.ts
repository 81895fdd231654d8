import { type Batch, Refusal, type Tree } from "../../plugin.js";
import {
  isHeader,
  logTime,
  ownedTrees,
  type PlainAttributes,
  plainValue,
  plainValueText,
  type TreeOwner,
  treeAttributes,
  treeHex,
  treeText,
  WireWriter,
} from "../../runtime/kit.js";
import { LINE_FORMATS, type LineParts, type LokiFormat, logLine } from "./log-line.js";
import { HINTS, type Labelled, type StreamLabels } from "./stream-labels.js";

/** The header that says whose data it is. */
export const TENANT_HEADER = "X-Scope-OrgID";

/** Records of one tenant that are pushed together, by their places in the batch. */
export interface Push {
  /** Empty when no hint names one. */
  readonly tenant: string;
  readonly records: readonly number[];
  /** Its body, before compression. */
  encode(): Uint8Array;
}

/** What a batch comes to: pushes, and records that Loki could not take in any form. */
export interface Pushes {
  readonly pushes: readonly Push[];
  readonly refused: ReadonlyMap<string, readonly number[]>;
}

export interface PushSettings {
  readonly labels: StreamLabels;
  /** Where no hint says it. */
  readonly format: LokiFormat;
  /** For records without a time. */
  readonly now: () => number;
}

interface OwnedRecord {
  readonly place: number;
  readonly log: Tree;
  readonly attributes: PlainAttributes;
  readonly resource: PlainAttributes;
  readonly owner: TreeOwner;
  readonly labelled: Labelled;
}

/**
 * Sorts the records of a batch into pushes. Lines repeat the resource, so a push is cut where its lines would come to more than
 * `MAX_PUSH_BYTES`, and written only when it is sent: a batch with a large resource never lies in memory as lines as a whole.
 */
export function pushesOf(batch: Batch, settings: PushSettings): Pushes {
  const open = new Map<string, { records: OwnedRecord[]; bytes: number }>();
  const pushes: Push[] = [];
  const refused = new Map<string, number[]>();
  const meanBytes = Math.ceil(batch.bytes.length / Math.max(batch.count, 1));
  for (const { place, tree: log, owner } of ownedTrees(batch)) {
    const record = recordOf(place, log, owner, settings);
    const problem = problemOf(record, settings);
    const tenant = tenantOf(record);
    if (problem !== undefined) {
      const places = refused.get(problem);
      if (places === undefined) refused.set(problem, [record.place]);
      else places.push(record.place);
      continue;
    }
    let group = open.get(tenant);
    if (group === undefined || group.bytes > MAX_PUSH_BYTES) {
      group = { records: [], bytes: 0 };
      open.set(tenant, group);
      pushes.push(pushOf(tenant, group.records, settings));
    }
    group.records.push(record);
    group.bytes += meanBytes + owner.length;
  }
  return { pushes, refused };
}

function recordOf(place: number, log: Tree, owner: TreeOwner, { labels }: PushSettings): OwnedRecord {
  const attributes = treeAttributes(log);
  const { resource } = owner;
  const labelled = labels.of(attributes, resource, Number(log["severityNumber"] ?? 0));
  return { place, log, attributes, resource, owner, labelled };
}

/** Loki takes 4 MiB by default. */
const MAX_PUSH_BYTES = 2 * 1024 * 1024;

function problemOf(record: OwnedRecord, settings: PushSettings): string | undefined {
  const format = formatOf(record, settings);
  if (!isLokiFormat(format)) return `the hint ${HINTS.format} is none of ${LINE_FORMATS.join(", ")}`;
  if (!isHeader(TENANT_HEADER, tenantOf(record))) return `the tenant that ${HINTS.tenant} names cannot be a header`;
  if (record.labelled.text === "") return "the record has no label, and Loki takes none without";
  return undefined;
}

function pushOf(tenant: string, records: readonly OwnedRecord[], settings: PushSettings): Push {
  return {
    tenant,
    get records() {
      return records.map(({ place }) => place);
    },
    encode: () => encodePush(records, settings),
  };
}

/** logproto.PushRequest: streams, each with its labels and the records that have them, in their order. */
function encodePush(records: readonly OwnedRecord[], settings: PushSettings): Uint8Array {
  const streams = new Map<string, WireWriter>();
  for (const record of records) {
    const { text } = record.labelled;
    let entries = streams.get(text);
    if (entries === undefined) {
      entries = new WireWriter(4096);
      streams.set(text, entries);
    }
    writeEntry(entries, timeOf(record.log, settings), lineOf(record, settings));
  }
  const out = new WireWriter(65_536);
  for (const [labels, entries] of streams) {
    out.byte(10);
    out.begin(labels.length + entries.length);
    out.byte(10);
    out.text(labels);
    out.copy(entries.bytes, 0, entries.length);
    out.end();
  }
  return out.written();
}

function writeEntry(out: WireWriter, nanos: bigint, line: string): void {
  out.byte(18);
  out.begin(line.length + 16);
  out.byte(10);
  out.begin(12);
  out.byte(8);
  out.varint64(nanos / 1_000_000_000n);
  out.byte(16);
  out.varint(Number(nanos % 1_000_000_000n));
  out.end();
  out.byte(18);
  out.text(line);
  out.end();
}

function lineOf(record: OwnedRecord, settings: PushSettings): string {
  const { log, labelled, owner } = record;
  return logLine(formatOf(record, settings) as LokiFormat, {
    body: log["body"] === undefined ? undefined : (plainValue(log["body"] as Tree) ?? undefined),
    eventName: treeText(log["eventName"]),
    traceId: treeHex(log["traceId"]),
    spanId: treeHex(log["spanId"]),
    severity: treeText(log["severityText"]),
    flags: Number(log["flags"] ?? 0),
    attributes: labelled.attributes,
    resource: labelled.resource,
    scope: scopeOf(owner),
  });
}

const scopes = new WeakMap<TreeOwner, LineParts["scope"]>();

/** The same object for all records of a scope. */
function scopeOf(owner: TreeOwner): LineParts["scope"] {
  const known = scopes.get(owner);
  if (known !== undefined) return known;
  const { scopeName: name, scopeVersion: version, scopeAttributes: attributes } = owner;
  const scope = {
    ...(name !== "" && { name }),
    ...(version !== "" && { version }),
    ...(Object.keys(attributes).length > 0 && { attributes }),
  };
  scopes.set(owner, scope);
  return scope;
}

function formatOf({ attributes, resource }: OwnedRecord, { format }: PushSettings): string {
  const hint = resource[HINTS.format] ?? attributes[HINTS.format];
  return hint === undefined ? format : plainValueText(hint);
}

function isLokiFormat(format: string): format is LokiFormat {
  return (LINE_FORMATS as readonly string[]).includes(format);
}

/** The value of the attribute that the hint names; the resource counts before the record. */
function tenantOf({ attributes, resource }: OwnedRecord): string {
  const key = plainValueText(resource[HINTS.tenant] ?? attributes[HINTS.tenant]);
  const owner = [resource, attributes].find((map) => Object.hasOwn(map, key));
  return owner === undefined ? "" : plainValueText(owner[key]);
}

function timeOf(log: Tree, { now }: PushSettings): bigint {
  return logTime(log) || BigInt(Math.trunc(now())) * 1_000_000n;
}

/** Why records are refused that are not even sent. */
export function refusalOfRecords(problem: string): Refusal {
  return new Refusal("permanent", problem, { category: "schema" });
}
