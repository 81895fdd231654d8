import { message, readValue, valueText } from "#otlp/bytes";
import { SPAN_KINDS } from "#otlp/signals";
import { OWNER_TAG, RESOURCE_ATTRIBUTES_TAG } from "#otlp/tags";
import { KEEP, type RecordVisitor, RecordWalk, type Verdict } from "#otlp/views";
import type { Batch, ComponentContext, Counter } from "../../../plugin.js";
import type { MetricAggregation } from "../aggregating-processor.js";
import { FALSE_VALUE, nanosOf, TRUE_VALUE, textValue } from "../metric-writer.js";
import { MeasuredSpan, WantedAttributes } from "../span-fields.js";
import type { ServiceGraphConfig } from "./config.js";
import { EdgeSeriesSet } from "./edge-series.js";

/** A request with at least one known side. */
interface Edge {
  readonly expiresAt: number;
  /** True if the server's span is a root, so the caller sends no spans. */
  readonly hasNoParent: boolean;
  client: string;
  server: string;
  clientSeconds: number;
  serverSeconds: number;
  connection: "" | "messaging_system" | "database" | "virtual_node";
  isFailed: boolean;
  /** The preferred name of a server that sends no spans. */
  peer: string | undefined;
  readonly dimensions: Map<string, string>;
}

/** An edge as JSON. */
type SavedEdge = Omit<Edge, "dimensions"> & { readonly dimensions: [string, string][] };

/** Shared by all edges without dimensions; nothing is ever added to it. */
const NO_DIMENSIONS = new Map<string, string>();
/** The encoded forms of recent texts are cached. */
const MAX_TEXTS = 1000;
const MAX_TEXT_LENGTH = 256;

const NO_BUFFER = Buffer.alloc(0);
const SERVICE = "service.name";
const CLIENT = SPAN_KINDS.indexOf("client");
const SERVER = SPAN_KINDS.indexOf("server");
const PRODUCER = SPAN_KINDS.indexOf("producer");
const CONSUMER = SPAN_KINDS.indexOf("consumer");

/**
 * Pairs the span of a client with the span of the server that it called, by the trace and the client's span id, and
 * counts the pair. If the other side does not arrive in time, the span counts, if configured, as a request to or from
 * something that sends no spans. Waiting spans are the state that is stored together with the counts, so that a crash
 * neither loses nor repeats them.
 */
export class GraphAggregation implements MetricAggregation, RecordVisitor {
  isChanged = false;
  private readonly config: ServiceGraphConfig;
  /** Edges by trace and span id, in the order in which they expire. */
  private readonly waiting = new Map<string, Edge>();
  private readonly series: EdgeSeriesSet;
  private readonly names: readonly string[];
  private readonly ofSpan: WantedAttributes;
  private readonly ofResource: WantedAttributes;
  private readonly fields: MeasuredSpan;
  private readonly total: Counter;
  private readonly expired: Counter;
  private readonly texts = new Map<string, Uint8Array>();
  // The position in the batch that is being read.
  private buffer: Buffer = NO_BUFFER;
  private now = 0;
  private resourceSerial = 0;
  private service = "";

  constructor(config: ServiceGraphConfig, { id, metrics }: ComponentContext) {
    this.config = config;
    this.series = new EdgeSeriesSet(config.durations, config.maxSeries);
    const { dimensions, peerAttributes, databaseAttributes } = config;
    this.names = [...new Set([SERVICE, ...dimensions, ...peerAttributes, ...databaseAttributes])];
    this.ofSpan = new WantedAttributes(this.names);
    this.ofResource = new WantedAttributes(this.names);
    this.fields = new MeasuredSpan(this.ofSpan);
    const counter = (name: string, description: string) =>
      metrics.counter(`otelcol_connector_servicegraph_${name}`, { description }, { connector: id });
    this.total = counter("total_edges", "Requests seen from one side or both.");
    this.expired = counter("expired_edges", "Requests whose other side did not arrive in time.");
  }

  add(batch: Batch, now: number): void {
    this.now = now;
    this.resourceSerial = 0;
    this.isChanged = true;
    this.expire(now);
    const { buffer, byteOffset, length } = batch.bytes;
    this.buffer = Buffer.from(buffer, byteOffset, length);
    new RecordWalk(batch).run(this);
    this.buffer = NO_BUFFER; // the buffer would keep the batch in memory until the next one
  }

  visit(walk: RecordWalk, start: number, end: number): Verdict {
    if (walk.serials[0] !== this.resourceSerial) this.enterResource(walk);
    if (this.service === "") return KEEP;
    const { fields } = this;
    const b = walk.bytes;
    fields.read(b, start, end);
    const { kind } = fields;
    if (kind === CLIENT || kind === PRODUCER) this.addClient(b, kind === PRODUCER);
    else if (kind === SERVER || kind === CONSUMER) this.addServer(b, kind === CONSUMER);
    return KEEP;
  }

  *pieces(now: number): Generator<Batch> {
    this.expire(now);
    this.isChanged = false;
    yield* this.series.pieces(nanosOf(now - this.config.timeOffsetMs));
  }

  flushed(now: number): void {
    this.series.expire(now);
  }

  state(): Uint8Array {
    const edges = [...this.waiting].map(([key, edge]) => [key, { ...edge, dimensions: [...edge.dimensions] }]);
    return Buffer.from(JSON.stringify(edges));
  }

  restore(state: Uint8Array): void {
    const edges = JSON.parse(Buffer.from(state).toString()) as [string, SavedEdge][];
    for (const [key, edge] of edges) this.waiting.set(key, { ...edge, dimensions: new Map(edge.dimensions) });
    if (edges.length > 0) this.isChanged = true;
  }

  private enterResource({ bytes, frames, serials }: RecordWalk): void {
    const { start, end } = frames[0]!;
    const [from, to] = message(bytes, start, end, OWNER_TAG);
    this.ofResource.clear();
    this.ofResource.collectAll(bytes, from, to, RESOURCE_ATTRIBUTES_TAG);
    this.service = this.textOf(bytes, this.ofResource, SERVICE) ?? "";
    this.resourceSerial = serials[0]!;
  }

  private addClient(b: Uint8Array, isMessaging: boolean): void {
    const { fields } = this;
    const key = this.keyOf(fields.spanIdStart, fields.spanIdEnd);
    const edge = this.edgeOf(key, b, fields.spanIdStart, fields.spanIdEnd);
    edge.connection = isMessaging ? "messaging_system" : "";
    edge.client = this.service;
    edge.clientSeconds = fields.durationNanos(b) / 1e9;
    this.addSide(b, edge, "client");
    edge.peer = this.firstAttribute(b, this.config.peerAttributes, [this.ofSpan]);
    const database = this.firstAttribute(b, this.config.databaseAttributes, [this.ofResource, this.ofSpan]);
    if (database !== undefined) {
      // A database sends no spans, so only the client's side is known.
      edge.connection = "database";
      edge.server = database;
      edge.serverSeconds = edge.clientSeconds;
    }
    this.settle(key, edge);
  }

  private addServer(b: Uint8Array, isMessaging: boolean): void {
    const { fields } = this;
    const key = this.keyOf(fields.parentIdStart, fields.parentIdEnd);
    const edge = this.edgeOf(key, b, fields.parentIdStart, fields.parentIdEnd);
    edge.connection = isMessaging ? "messaging_system" : "";
    edge.server = this.service;
    edge.serverSeconds = fields.durationNanos(b) / 1e9;
    this.addSide(b, edge, "server");
    this.settle(key, edge);
  }

  private addSide(b: Uint8Array, edge: Edge, side: "client" | "server"): void {
    if (this.fields.statusCode === 2) edge.isFailed = true;
    for (const name of this.config.dimensions) {
      const value = this.firstAttribute(b, [name], [this.ofResource, this.ofSpan]);
      if (value !== undefined) edge.dimensions.set(`${side}_${name}`, value);
    }
  }

  private edgeOf(key: string, b: Uint8Array, idStart: number, idEnd: number): Edge {
    const known = this.waiting.get(key);
    if (known !== undefined) return known;
    this.total.add(1);
    return {
      expiresAt: this.now + this.config.ttlMs,
      hasNoParent: isZero(b, idStart, idEnd),
      client: "",
      server: "",
      clientSeconds: 0,
      serverSeconds: 0,
      connection: "",
      isFailed: false,
      peer: undefined,
      dimensions: this.config.dimensions.length === 0 ? NO_DIMENSIONS : new Map(),
    };
  }

  private settle(key: string, edge: Edge): void {
    if (edge.client !== "" && edge.server !== "") {
      this.waiting.delete(key);
      this.count(edge, "");
    } else if (!this.waiting.has(key)) {
      if (this.waiting.size >= this.config.maxWaiting) this.expireFirst();
      this.waiting.set(key, edge);
    }
  }

  private keyOf(idStart: number, idEnd: number): string {
    const { buffer } = this;
    const { traceIdStart, traceIdEnd } = this.fields;
    return buffer.toString("latin1", traceIdStart, traceIdEnd) + buffer.toString("latin1", idStart, idEnd);
  }

  private expire(now: number): void {
    this.now = now;
    for (const { expiresAt } of this.waiting.values()) {
      if (expiresAt > now) return;
      this.expireFirst();
    }
  }

  /** Gives up on the edge that has waited longest. */
  private expireFirst(): void {
    const [first] = this.waiting;
    if (first === undefined) return;
    const [key, edge] = first;
    this.waiting.delete(key);
    this.expired.add(1);
    if (this.config.peerAttributes.length === 0) return;
    if (edge.client === "" && edge.hasNoParent) {
      edge.client = "user";
      edge.connection = "virtual_node";
      this.count(edge, "client");
    } else if (edge.server === "") {
      edge.server = edge.peer ?? "unknown";
      edge.connection = "virtual_node";
      this.count(edge, "server");
    }
  }

  private count(edge: Edge, virtualNode: string): void {
    const { client, server, connection, isFailed, clientSeconds, serverSeconds } = edge;
    // In the order in which they are written.
    const attributes = new Map([
      ["client", this.valueOf(client)],
      ["connection_type", this.valueOf(connection)],
      ["failed", isFailed ? TRUE_VALUE : FALSE_VALUE],
      ["server", this.valueOf(server)],
    ]);
    for (const [name, value] of edge.dimensions) attributes.set(name, this.valueOf(value));
    if (this.config.hasVirtualNodeLabel) attributes.set("virtual_node", this.valueOf(virtualNode));
    this.isChanged = true;
    this.series.count({ attributes, clientSeconds, serverSeconds, isFailed }, this.now);
  }

  private valueOf(text: string): Uint8Array {
    let value = this.texts.get(text);
    if (value === undefined) {
      value = textValue(text);
      if (text.length > MAX_TEXT_LENGTH) return value;
      if (this.texts.size >= MAX_TEXTS) this.texts.clear();
      this.texts.set(text, value);
    }
    return value;
  }

  /** Returns the first of these attributes that exists, looked for in these messages in turn. */
  private firstAttribute(
    b: Uint8Array,
    names: readonly string[],
    places: readonly WantedAttributes[],
  ): string | undefined {
    for (const name of names) {
      for (const place of places) {
        const found = this.textOf(b, place, name);
        if (found !== undefined) return found;
      }
    }
    return undefined;
  }

  private textOf(b: Uint8Array, place: WantedAttributes, name: string): string | undefined {
    const i = this.names.indexOf(name);
    const start = place.starts[i]!;
    return start < 0 ? undefined : valueText(readValue(b, start, place.ends[i]!));
  }
}

function isZero(b: Uint8Array, start: number, end: number): boolean {
  for (let i = start; i < end; i++) if (b[i] !== 0) return false;
  return true;
}
