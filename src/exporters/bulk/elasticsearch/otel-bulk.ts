import { bodyEnd, lengthAt, nextBody } from "#otlp/bytes";
import {
  findKeyAndValue,
  jsonText,
  keyEnd,
  keyStart,
  membersOf,
  ownedRecords,
  type PlainAttributes,
  plainAttributes,
  type TreeOwner,
} from "#otlp/json";
import { LOG_ATTRIBUTES_TAG, SPAN_ATTRIBUTES_TAG, SPAN_EVENT_ATTRIBUTES_TAG, SPAN_EVENTS_TAG } from "#otlp/tags";
import type { Batch } from "../../../plugin.js";
import type { BulkDocument, UnfitRecords } from "../bulk-sender.js";
import type { ElasticsearchConfig } from "./config.js";
import { ownerFields } from "./otel-documents.js";
import { OtelWriter, type SharedLines } from "./otel-writer.js";
import { type DocumentRoute, logTarget, ROUTING_KEYS, routeOf, targetOf } from "./route.js";

export const NO_INDEX = "the attribute elasticsearch.index is not a valid index name";

/** Makes the documents of log records or spans in the mode otel, directly from their bytes. */
export function* otelDocuments(
  batch: Batch,
  config: ElasticsearchConfig,
  now: number,
): Iterable<BulkDocument | UnfitRecords> {
  const { bytes } = batch;
  const writer = new OtelWriter(bytes);
  const routes = new OtelRoutes(bytes, config, now);
  for (const { place, owner, start, end } of ownedRecords(batch)) {
    const records = [place];
    const shared = batch.signal === "logs" ? routes.ofLog(owner, start, end) : routes.ofSpan(owner, start, end);
    if (shared === undefined) {
      yield { records, problem: NO_INDEX };
      continue;
    }
    if (batch.signal === "logs") {
      yield { records, write: (out) => writer.writeLog(out, start, end, shared) };
      continue;
    }
    yield { records, write: (out) => writer.writeSpan(out, start, end, shared) };
    for (let p = start; (p = nextBody(bytes, p, end, SPAN_EVENTS_TAG)) >= 0; ) {
      const event = p;
      const eventEnd = (p = bodyEnd);
      const own = routes.ofEvent(owner, event, eventEnd);
      if (own === undefined) yield { records, problem: NO_INDEX };
      else yield { records, write: (out) => writer.writeEvent(out, start, end, event, eventEnd, own) };
    }
  }
}

type TargetOf = (route: DocumentRoute, attributes: PlainAttributes) => Readonly<Record<string, unknown>>;

/**
 * The lines that documents share. Only attributes that select the index, the id or the pipeline make them differ within
 * a resource and scope, so most records are not decoded.
 */
class OtelRoutes {
  private readonly bytes: Uint8Array;
  private readonly config: ElasticsearchConfig;
  private readonly now: number;
  private owner: TreeOwner | undefined;
  private ownerMembers: Uint8Array = NOTHING;
  /** The lines of records without attributes of their own that matter; null if they have no valid index. */
  private plain: { logs?: SharedLines | null; traces?: SharedLines | null } = {};

  constructor(bytes: Uint8Array, config: ElasticsearchConfig, now: number) {
    this.bytes = bytes;
    this.config = config;
    this.now = now;
  }

  /** Returns undefined if a name is not valid. */
  ofLog(owner: TreeOwner, start: number, end: number): SharedLines | undefined {
    return this.linesOf("logs", owner, start, end, LOG_ATTRIBUTES_TAG, (route, attributes) =>
      logTarget(route, attributes, this.config),
    );
  }

  ofSpan(owner: TreeOwner, start: number, end: number): SharedLines | undefined {
    return this.linesOf("traces", owner, start, end, SPAN_ATTRIBUTES_TAG, (route, attributes) =>
      targetOf(route, attributes, this.config.traces_dynamic_id.enabled),
    );
  }

  /** Events are stored among the logs. */
  ofEvent(owner: TreeOwner, start: number, end: number): SharedLines | undefined {
    return this.linesOf("logs", owner, start, end, SPAN_EVENT_ATTRIBUTES_TAG, ({ index }) => ({ _index: index }));
  }

  private linesOf(
    signal: "logs" | "traces",
    owner: TreeOwner,
    start: number,
    end: number,
    tag: number,
    targetOf: TargetOf,
  ): SharedLines | undefined {
    if (owner !== this.owner) {
      this.owner = owner;
      this.ownerMembers = membersOf(ownerFields(owner));
      this.plain = {};
    }
    if (hasRoutingKey(this.bytes, start, end, tag))
      return this.newLines(signal, owner, plainAttributes(this.bytes, start, end, tag), targetOf);
    let known = this.plain[signal];
    if (known === undefined) {
      known = this.newLines(signal, owner, {}, targetOf) ?? null;
      this.plain[signal] = known;
    }
    return known ?? undefined;
  }

  private newLines(
    signal: "logs" | "traces",
    owner: TreeOwner,
    attributes: PlainAttributes,
    targetOf: TargetOf,
  ): SharedLines | undefined {
    const route = routeOf(signal, attributes, owner, this.config, this.now);
    if (route === undefined) return undefined;
    const { dataStream } = route;
    return {
      action: Buffer.from(`${jsonText({ create: targetOf(route, attributes) })}\n`),
      dataStream: membersOf({ data_stream: dataStream }),
      owner: this.ownerMembers,
    };
  }
}

const NOTHING = Buffer.alloc(0);

function hasRoutingKey(b: Uint8Array, start: number, end: number, tag: number): boolean {
  for (let p = start; (p = nextBody(b, p, end, tag)) >= 0; ) {
    const at = lengthAt;
    p = bodyEnd;
    findKeyAndValue(b, at, p);
    if (mayRoute(b[keyStart]!) && ROUTING_KEYS.has(b, keyStart, keyEnd)) return true;
  }
  return false;
}

/** Whether a key that selects the index begins with this character: elasticsearch or data_stream. */
function mayRoute(character: number): boolean {
  return character === LETTER_E || character === LETTER_D;
}

const LETTER_D = 100;
const LETTER_E = 101;
