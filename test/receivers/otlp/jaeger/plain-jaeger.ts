// biome-ignore lint/suspicious/noExplicitAny: messages of Jaeger as encodeJaeger takes them.
type JaegerMessage = Record<string, any>;
type Attributes = Map<string, unknown>;

const KINDS = ["", "internal", "server", "client", "producer", "consumer"];

/** A span of Jaeger as OTLP/JSON has it, with its resource and scope, by way of plain objects. */
export function plainSpan(span: JaegerMessage, batchProcess: JaegerMessage = {}): object {
  const tags = attributesOf(span["tags"]);
  const take = (key: string) => {
    const value = tags.get(key) as { stringValue?: string } | undefined;
    if (value?.stringValue !== undefined) tags.delete(key);
    return value?.stringValue;
  };
  const name = take("otel.scope.name");
  const version = name === undefined ? undefined : take("otel.scope.version");
  const kind = Math.max(0, KINDS.indexOf(take("span.kind") ?? ""));
  const status = takeStatus(tags, kind);
  const start = nanosOf(span["startTime"]);
  const references: JaegerMessage[] = span["references"] ?? [];
  const inTrace = references.filter(({ traceId = "" }) => traceId === (span["traceId"] ?? ""));
  const parent = inTrace.find(({ refType = 0 }) => refType === 0) ?? inTrace.find(({ refType }) => refType === 1);
  const links = references.filter(
    ({ refType = 0, spanId = "" }) => !(refType === 0 && spanId === (parent?.["spanId"] ?? "")),
  );
  return {
    resource: resourceOf(span["process"] ?? batchProcess),
    scope: name === undefined ? undefined : { ...unlessEmpty({ name }), ...unlessEmpty({ version }) },
    span: {
      ...ids({ traceId: span["traceId"], spanId: span["spanId"] }),
      ...unlessEmpty({ traceState: take("w3c.tracestate") }),
      ...ids({ parentSpanId: parent?.["spanId"] }),
      ...unlessEmpty({ name: span["operationName"] }),
      ...(kind > 0 && { kind }),
      ...time("startTimeUnixNano", start),
      ...time("endTimeUnixNano", start + nanosOf(span["duration"])),
      ...list("attributes", keyValues(tags)),
      ...list("events", (span["logs"] ?? []).map(eventOf)),
      ...list("links", links.map(linkOf)),
      ...(status && { status }),
      ...((span["flags"] & 1) === 1 && { flags: 1 }),
    },
  };
}

function takeStatus(tags: Attributes, kind: number): object | undefined {
  const text = (key: string) => (tags.get(key) as { stringValue?: string } | undefined)?.stringValue;
  const taken = (key: string) => {
    const value = tags.has(key) ? (text(key) ?? "") : undefined;
    tags.delete(key);
    return value;
  };
  const status = (code: number, message = "") => (code > 0 ? { ...unlessEmpty({ message }), code } : undefined);
  const written = taken("otel.status_code");
  if ((tags.get("error") as { boolValue?: boolean } | undefined)?.boolValue) {
    tags.delete("error");
    return status(2, taken("otel.status_description") ?? text("http.status_message"));
  }
  if (written !== undefined)
    return status({ OK: 1, ERROR: 2 }[written.toUpperCase()] ?? 0, taken("otel.status_description"));
  const { intValue, stringValue } = (tags.get("http.status_code") ?? {}) as { intValue?: string; stringValue?: string };
  const code = Number(intValue ?? (/^-?\d{1,18}$/.test(stringValue ?? "") ? stringValue : Number.NaN));
  if (Number.isNaN(code) || (code >= 100 && code < 400) || (code >= 400 && code < 500 && kind === 2)) return undefined;
  return status(2, text("http.status_message"));
}

function resourceOf({ serviceName = "", tags = [] }: JaegerMessage): object {
  const attributes: Attributes = new Map();
  if (serviceName !== "" && serviceName !== "OTLPResourceNoServiceName")
    attributes.set("service.name", { stringValue: serviceName });
  for (const [key, value] of attributesOf(tags)) attributes.set(key, value);
  const rename = (from: string, to: string, value: unknown) => {
    if (value === undefined || attributes.has(to)) return;
    attributes.delete(from);
    attributes.set(to, value);
  };
  rename("hostname", "host.name", attributes.get("hostname"));
  const version = (attributes.get("jaeger.version") as { stringValue?: string } | undefined)?.stringValue;
  rename(
    "jaeger.version",
    "opencensus.exporterversion",
    version === undefined ? undefined : { stringValue: `Jaeger-${version}` },
  );
  return list("attributes", keyValues(attributes));
}

function attributesOf(tags: readonly JaegerMessage[] = []): Attributes {
  return new Map(tags.map((tag) => [tag["key"] ?? "", otlpValue(tag)]));
}

function otlpValue({ vType = 0, vStr = "", vBool = false, vInt64 = 0n, vFloat64 = 0, vBinary = "" }: JaegerMessage) {
  const values = [
    { stringValue: vStr },
    { boolValue: vBool },
    { intValue: String(vInt64) },
    { doubleValue: vFloat64 },
    { bytesValue: Buffer.from(vBinary, "hex").toString("base64") },
  ];
  return values[vType] ?? { stringValue: `<Unknown Jaeger TagType "${vType}">` };
}

function eventOf({ timestamp, fields }: JaegerMessage): object {
  const attributes = attributesOf(fields);
  const name = (attributes.get("event") as { stringValue?: string } | undefined)?.stringValue;
  if (name !== undefined) attributes.delete("event");
  return {
    ...time("timeUnixNano", nanosOf(timestamp)),
    ...unlessEmpty({ name }),
    ...list("attributes", keyValues(attributes)),
  };
}

function linkOf({ traceId, spanId, refType = 0 }: JaegerMessage): object {
  const value = { stringValue: refType === 0 ? "child_of" : "follows_from" };
  return { ...ids({ traceId, spanId }), attributes: [{ key: "opentracing.ref_type", value }] };
}

const keyValues = (attributes: Attributes) => [...attributes].map(([key, value]) => ({ key, value }));
const list = (name: string, items: readonly object[]) => (items.length > 0 ? { [name]: items } : {});
const unlessEmpty = (fields: Record<string, string | undefined>) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined && value !== ""));
const ids = (fields: Record<string, string | undefined>) =>
  Object.fromEntries(Object.entries(unlessEmpty(fields)).filter(([, value]) => !/^0*$/.test(value as string)));

const nanosOf = ({ seconds = 0n, nanos = 0 }: JaegerMessage = {}) => BigInt(seconds) * 1_000_000_000n + BigInt(nanos);
const MAX = 2n ** 64n - 1n;
const time = (name: string, nanos: bigint) => (nanos > 0n ? { [name]: String(nanos > MAX ? MAX : nanos) } : {});
