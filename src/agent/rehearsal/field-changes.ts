import type { FieldChange, ShownRecord } from "#contract/rehearsal";
import type { Batch } from "#otlp";
import { batchToJson, eachPoint, type PlacedRecord, placedRecords } from "#otlp/json";
import { DROP, KEEP, RecordWalk } from "#otlp/views";
import type { ChangedRecord } from "./match-records.js";
import type { OutputRecord } from "./output-records.js";

/** Masks a batch, so that people may see it. Throws if that is impossible. */
export type Mask = (batch: Batch) => Batch;

const MAX_EXAMPLES = 3;
const MAX_VALUE_LENGTH = 200;
/** Records may have any keys, so there may be a field for each record. */
const MAX_FIELDS = 200;
const UNKNOWN = "****";

/** A value of a record, and its form for people. */
interface FieldValue {
  readonly raw: string;
  readonly field: string;
  readonly shown: string;
}

/** Counts the fields that differ. Values are compared as they are, and shown masked. */
export class FieldChanges {
  private readonly byKey = new Map<string, FieldChange>();
  private readonly mask: Mask;

  constructor(mask: Mask) {
    this.mask = mask;
  }

  /** The changes, those of most records first. */
  get all(): readonly FieldChange[] {
    return [...this.byKey.values()].toSorted((a, b) => b.records - a.records);
  }

  add({ before, after }: ChangedRecord): void {
    const [old, now] = [fieldsOf(before, this.mask), fieldsOf(after, this.mask)];
    for (const path of new Set([...old.keys(), ...now.keys()])) {
      const [was, is] = [old.get(path), now.get(path)];
      if (was?.raw === is?.raw) continue;
      const change = was === undefined ? "added" : is === undefined ? "removed" : "changed";
      this.count((is ?? was)!.field, change, was?.shown, is?.shown);
    }
  }

  private count(field: string, change: FieldChange["change"], before?: string, after?: string): void {
    const key = `${change} ${field}`;
    let known = this.byKey.get(key);
    if (known === undefined && this.byKey.size >= MAX_FIELDS) return this.count("other fields", change);
    known ??= { field, change, records: 0, examples: [] };
    this.byKey.set(key, known);
    known.records += 1;
    const example = { ...(before !== undefined && { before }), ...(after !== undefined && { after }) };
    const isNew = known.examples.every((each) => each.before !== before || each.after !== after);
    if (known.examples.length < MAX_EXAMPLES && isNew && field !== "other fields") known.examples.push(example);
  }
}

/** The fields of a record for people. */
export function shownRecord(record: OutputRecord, mask: Mask): ShownRecord {
  const fields = [...fieldsOf(record, mask).values()].map(({ field, shown }) => [field, shown] as const);
  return { fields: Object.fromEntries(fields.slice(0, MAX_SHOWN_FIELDS)) };
}

const MAX_SHOWN_FIELDS = 50;

/** The values of a record by path. If the record cannot be masked, none of its values is shown. */
function fieldsOf(record: OutputRecord, mask: Mask): ReadonlyMap<string, FieldValue> {
  const single = onlyRecord(record);
  const values = new Map<string, FieldValue>();
  addValues(placed(single), maskedOrNothing(single, mask), "", "", values);
  return values;
}

/** A batch with only this record, and with what it belongs to. */
function onlyRecord({ batch, index }: OutputRecord): Batch {
  let at = 0;
  return new RecordWalk(batch).run({ visit: () => (at++ === index ? KEEP : DROP) });
}

function maskedOrNothing(batch: Batch, mask: Mask): object | undefined {
  try {
    return placed(mask(batch));
  } catch {
    return undefined;
  }
}

/** The record's own members beside its resource and scope. */
function placed(batch: Batch): object {
  const all = placedRecords(batch.signal, JSON.parse(batchToJson(batch)));
  const [one] = batch.signal === "metrics" ? all.flatMap(eachPoint) : all;
  const { record, resource, scope }: PlacedRecord = one ?? { record: {}, resource: {}, scope: {} };
  return { ...withPointAsMember(record), resource, scope };
}

/** Moves the only point of a metric up: `point.attributes` instead of `sum.dataPoints[0].attributes`. */
function withPointAsMember(record: object): object {
  return Object.fromEntries(
    Object.entries(record).map(([key, value]) => {
      const { dataPoints, ...data } = (value ?? {}) as { dataPoints?: readonly unknown[] };
      return Array.isArray(dataPoints) ? ["point", { ...(dataPoints[0] as object), type: key, ...data }] : [key, value];
    }),
  );
}

/** Walks a tree and its masked copy side by side. A part that the copy does not have is not shown. */
function addValues(raw: unknown, masked: unknown, path: string, field: string, into: Map<string, FieldValue>): void {
  const value = plainText(raw);
  if (value !== undefined) {
    const shown = (plainText(masked) ?? UNKNOWN).slice(0, MAX_VALUE_LENGTH);
    return void into.set(path, { raw: value, field, shown });
  }
  const names = Object.keys(raw as object);
  const maskedNames = typeof masked === "object" && masked !== null ? Object.keys(masked) : [];
  const isAlike = names.length === maskedNames.length;
  for (const [i, name] of names.entries()) {
    const member = (raw as Record<string, unknown>)[name];
    const maskedMember = isAlike ? (masked as Record<string, unknown>)[maskedNames[i]!] : undefined;
    const at = memberPath(path, name, member, raw);
    const shownAt = memberPath(field, name, maskedMember ?? { key: UNKNOWN }, raw);
    addValues(attributeValue(member), attributeValue(maskedMember), at, shownAt, into);
  }
}

/** Attributes are named by their keys, other members of lists by their number. */
function memberPath(path: string, name: string, member: unknown, parent: unknown): string {
  if (!Array.isArray(parent)) return path === "" ? name : `${path}.${name}`;
  const { key } = (member ?? {}) as { readonly key?: unknown };
  return `${path}[${typeof key === "string" ? JSON.stringify(key) : name}]`;
}

/** The value of an attribute; any other member as it is. */
function attributeValue(member: unknown): unknown {
  const { key, value } = (member ?? {}) as { readonly key?: unknown; readonly value?: unknown };
  return typeof key === "string" && typeof value === "object" ? value : member;
}

/** The text of a single value, also of OTLP's `{"stringValue": "a"}`; undefined for anything with several members. */
function plainText(value: unknown): string | undefined {
  if (typeof value !== "object" || value === null) return String(value);
  const [kind, ...others] = Object.keys(value);
  if (kind === undefined || others.length > 0 || !/^(string|int|double|bool|bytes|array|kvlist)Value$/.test(kind))
    return undefined;
  const inner = (value as Record<string, unknown>)[kind];
  return typeof inner === "object" ? JSON.stringify(inner) : String(inner);
}
