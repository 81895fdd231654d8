import { isIP } from "node:net";
import type { Batch } from "#otlp";
import type { Tree } from "#otlp/bytes";
import { decodeTree, jsonText, type KeyValueTree, plainObject, plainValueText } from "#otlp/json";
import {
  ENDPOINT_KEYS,
  NO_SERVICE_NAME,
  SERVICE_NAME_KEYS,
  ZIPKIN_KINDS,
  ZIPKIN_TAGS,
  type ZipkinEndpoint,
  type ZipkinSpan,
  type ZipkinTags,
} from "#traces";

/** A span that is converted to a Zipkin span on request. */
export interface ConvertibleSpan {
  /** False if it has no trace id or no span id; Zipkin does not accept such a span. */
  readonly hasIds: boolean;
  /** Length of the tags from its resource and scope. */
  readonly sharedLength: number;
  convert(): ZipkinSpan;
}

/**
 * Returns the spans of a batch, in order. Each repeats the tags of its resource, so not all of them should be converted
 * at once.
 */
export function* zipkinSpansOf(batch: Batch, defaultService = NO_SERVICE_NAME): Iterable<ConvertibleSpan> {
  for (const container of listIn(decodeTree(batch), "resourceSpans")) {
    const resource = new Map<string, string>();
    addAttributes(resource, (container["resource"] ?? {}) as Tree);
    const service = takeServiceName(resource) ?? defaultService;
    for (const scoped of listIn(container, "scopeSpans")) {
      const shared = new Map(resource);
      addScope(shared, (scoped["scope"] ?? {}) as Tree);
      let sharedLength = service.length;
      for (const [key, value] of shared) sharedLength += key.length + value.length + 6;
      for (const span of listIn(scoped, "spans"))
        yield { hasIds: hasIds(span), sharedLength, convert: () => zipkinSpan(span, service, new Map(shared)) };
    }
  }
}

function hasIds(span: Tree): boolean {
  return !isNoId(hexOf(span["traceId"])) && !isNoId(hexOf(span["spanId"]));
}

function isNoId(hex: string): boolean {
  return /^0*$/.test(hex);
}

function zipkinSpan(span: Tree, service: string, tags: ZipkinTags): ZipkinSpan {
  const traceId = hexOf(span["traceId"]);
  const id = hexOf(span["spanId"]);
  addAttributes(tags, span);
  const code = tags.get("http.response.status_code");
  if (code !== undefined && !tags.has("http.status_code")) tags.set("http.status_code", code);
  const kind = Number(span["kind"] ?? 0);
  if (kind === 1) tags.set(ZIPKIN_TAGS.kind, "internal");
  if (span["traceState"]) tags.set(ZIPKIN_TAGS.traceState, String(span["traceState"]));
  const local = takeEndpoint(tags, ENDPOINT_KEYS.local, service);
  const { service: peerKey, oldService } = ENDPOINT_KEYS.remote;
  const peer = takeTag(tags, peerKey) ?? takeTag(tags, oldService);
  const remote = takeEndpoint(tags, ENDPOINT_KEYS.remote, peer);
  addStatus(tags, (span["status"] ?? {}) as Tree);
  for (const [i, link] of listIn(span, "links").entries()) tags.set(ZIPKIN_TAGS.link + i, linkText(link));
  const parentId = hexOf(span["parentSpanId"]);
  const annotations = listIn(span, "events").map((event) => ({
    timestamp: microseconds(nanosOf(event["timeUnixNano"])),
    value: annotationText(event),
  }));
  return {
    // Zipkin tracers may use 64-bit ids: then the first half is zeros.
    traceId: traceId.startsWith("0000000000000000") ? traceId.slice(16) : traceId,
    id,
    ...(!isNoId(parentId) && { parentId }),
    ...(span["name"] ? { name: String(span["name"]) } : {}),
    ...(ZIPKIN_KINDS[kind] && { kind: ZIPKIN_KINDS[kind] }),
    ...timesOf(span),
    ...(local && { localEndpoint: local }),
    ...(remote && { remoteEndpoint: remote }),
    ...(annotations.length > 0 && { annotations }),
    ...(tags.size > 0 && { tags: Object.fromEntries(tags) }),
  };
}

/** A duration below a microsecond counts as one, because zero means unknown. */
function timesOf(span: Tree): { timestamp?: number; duration?: number } {
  const start = nanosOf(span["startTimeUnixNano"]);
  const end = nanosOf(span["endTimeUnixNano"]);
  const duration = end > start ? Math.max(1, microseconds(end - start + 500n)) : 0;
  return { ...(start > 0n && { timestamp: microseconds(start) }), ...(duration > 0 && { duration }) };
}

function addStatus(tags: ZipkinTags, { code = 0, message = "" }: Tree): void {
  // Zipkin takes every span with this tag for a failed one, whatever its value.
  if (code === 2) tags.set(ZIPKIN_TAGS.error, "true");
  else tags.delete(ZIPKIN_TAGS.error);
  if (code === 0) return;
  tags.set(ZIPKIN_TAGS.statusCode, code === 2 ? "STATUS_CODE_ERROR" : "STATUS_CODE_OK");
  if (message !== "") tags.set(ZIPKIN_TAGS.statusMessage, String(message));
}

/** Moves address and port from the tags to the endpoint, but only if the endpoint can hold them. */
function takeEndpoint(
  tags: ZipkinTags,
  keys: { readonly ip: string; readonly port: string },
  serviceName: string | undefined,
): ZipkinEndpoint | undefined {
  const ip = tags.get(keys.ip) ?? "";
  const version = isIP(ip);
  if (version === 0 && !serviceName) return undefined;
  if (version !== 0) tags.delete(keys.ip);
  const port = Number(tags.get(keys.port) ?? 0);
  const hasPort = Number.isInteger(port) && port > 0 && port < 65_536;
  if (hasPort) tags.delete(keys.port);
  return {
    ...(serviceName && { serviceName }),
    ...(version === 4 && { ipv4: ip }),
    ...(version === 6 && { ipv6: ip }),
    ...(hasPort && { port }),
  };
}

function takeServiceName(resource: ZipkinTags): string | undefined {
  const name = takeTag(resource, "service.name");
  if (name !== undefined) return name;
  for (const key of SERVICE_NAME_KEYS) {
    const other = takeTag(resource, key);
    if (other === undefined) continue;
    resource.set(ZIPKIN_TAGS.nameSource, key);
    return other;
  }
  return undefined;
}

/** An empty tag counts as missing, and stays. */
function takeTag(tags: ZipkinTags, key: string): string | undefined {
  const value = tags.get(key) || undefined;
  if (value !== undefined) tags.delete(key);
  return value;
}

function addScope(tags: ZipkinTags, scope: Tree): void {
  addAttributes(tags, scope);
  if (scope["name"]) tags.set(ZIPKIN_TAGS.scopeName, String(scope["name"]));
  if (scope["version"]) tags.set(ZIPKIN_TAGS.scopeVersion, String(scope["version"]));
}

function addAttributes(tags: ZipkinTags, message: Tree): void {
  for (const [key, value] of Object.entries(attributesOf(message))) tags.set(key, plainValueText(value));
}

function annotationText(event: Tree): string {
  const name = String(event["name"] ?? "");
  const dropped = Number(event["droppedAttributesCount"] ?? 0);
  const attributes = attributesOf(event);
  if (Object.keys(attributes).length === 0 && dropped === 0) return name;
  return `${name}|${jsonText(attributes)}|${dropped}`;
}

/** Returns a link as the text of a tag. */
export function linkText(link: Tree): string {
  const ids = `${hexOf(link["traceId"])}|${hexOf(link["spanId"])}|${link["traceState"] ?? ""}`;
  return `${ids}|${jsonText(attributesOf(link))}|${Number(link["droppedAttributesCount"] ?? 0)}`;
}

function attributesOf(message: Tree): Record<string, unknown> {
  return plainObject(message["attributes"] as unknown as KeyValueTree[]);
}

function listIn(tree: Tree, name: string): readonly Tree[] {
  return (tree[name] ?? []) as readonly Tree[];
}

function hexOf(value: unknown): string {
  return value instanceof Uint8Array ? Buffer.from(value).toString("hex") : "";
}

function nanosOf(value: unknown): bigint {
  return typeof value === "bigint" ? value : 0n;
}

function microseconds(nanos: bigint): number {
  return Number(nanos / 1000n);
}
