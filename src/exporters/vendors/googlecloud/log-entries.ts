import {
  attributeValue,
  bodyEnd,
  decodeText,
  encodedKey,
  findAttribute,
  lengthAt,
  message,
  nextBody,
  type WireWriter,
} from "#otlp/bytes";
import {
  DocumentJson,
  findKeyAndValue,
  KeySet,
  keyEnd,
  keyStart,
  labelOf,
  membersOf,
  plainAttributes,
  plainValueAt,
  plainValueText,
  valueEnd,
  valueStart,
  writeAscii,
} from "#otlp/json";
import { SEVERITY_NUMBER_NAMES } from "#otlp/signals";
import { LOG_ATTRIBUTES_TAG, SCOPE_NAME_TAG, SCOPE_VERSION_TAG, STRING_VALUE_TAG } from "#otlp/tags";
import { LogFields } from "#otlp/views";
import { loggingResource } from "../google-resource.js";
import { resourceLabels } from "../google-series.js";
import { hasRepeatedKeys, type RecordOwner, type RecordPage, writeAsText } from "../record-pages.js";
import type { GoogleCloudConfig } from "./config.js";
import { httpRequestOf, sourceLocationOf } from "./entry-fields.js";

/**
 * Writes log records as a request of entries.write of Cloud Logging. Log and resource stand once in the request; entries
 * have their own only where they differ.
 */
export class GoogleLogWriter {
  private readonly bytes: Uint8Array;
  private readonly json: DocumentJson;
  private readonly project: string;
  private readonly config: GoogleCloudConfig["log"];
  /** The log of records that name none, and the beginning of the names of traces. */
  private readonly defaultLog: Uint8Array;
  private readonly tracePrefix: Uint8Array;
  private owner: RecordOwner | undefined;
  /** The resource of the current record, and that of the first, which counts for all entries that have none. */
  private shared: Buffer = NOTHING;
  private common: Buffer = NOTHING;
  private ownerLabels: Readonly<Record<string, string>> = {};
  private ownerMembers: Uint8Array = NOTHING;
  private ownerKeys = new KeySet([]);
  /** Where the keys of the current record's labels start and end. */
  private readonly keys: number[] = [];

  constructor(bytes: Uint8Array, out: WireWriter, project: string, { log: config }: GoogleCloudConfig) {
    this.bytes = bytes;
    this.json = new DocumentJson(bytes, out);
    this.project = project;
    this.config = config;
    this.defaultLog = this.logNamed(config.default_log_name || "opentelemetry");
    this.tracePrefix = Buffer.from(`,"trace":${JSON.stringify(`projects/${project}/traces/`).slice(0, -1)}`);
  }

  write(page: RecordPage): void {
    const { json } = this;
    const { out } = json;
    const from = out.length;
    let separator: Uint8Array | undefined;
    page.each((start, end, owner) => {
      if (owner !== this.owner) this.enter(owner);
      if (separator === undefined) {
        this.common = this.shared;
        json.raw(this.defaultLog);
        json.raw(this.common);
      }
      json.raw(separator ?? ENTRIES);
      separator = BETWEEN;
      this.writeEntry(start, end);
    });
    json.raw(TAIL);
    json.close(from);
  }

  private writeEntry(start: number, end: number): void {
    const { json, bytes: b } = this;
    const { out } = json;
    log.read(b, start, end);
    const from = out.length;
    if (!this.common.equals(this.shared)) json.raw(this.shared);
    const timeAt = json.hasTime(log.timeAt) ? log.timeAt : log.observedAt;
    if (json.hasTime(timeAt)) json.isoTime(TIMESTAMP, timeAt);
    const severity = this.severity();
    json.raw(SEVERITIES[severity] ?? NOTHING);
    this.writeBody(severity);
    const hasGoogleKeys = this.writeLabels(start, end);
    if (hasGoogleKeys) this.writeGoogleFields(start, end);
    this.writeTrace(hasGoogleKeys && attributeAt(b, start, end, SAMPLED_KEY) === true);
    json.close(from);
  }

  private severity(): number {
    const { severityNumber: number, severityStart, severityEnd } = log;
    if (number > 0 || severityStart === severityEnd) return number;
    return (
      SEVERITY_OF_TEXT[Buffer.prototype.latin1Slice.call(this.bytes, severityStart, severityEnd).toLowerCase()] ?? 0
    );
  }

  private writeTrace(isSampled: boolean): void {
    const { json, bytes: b } = this;
    if (log.traceEnd > log.traceStart) {
      json.raw(this.tracePrefix);
      writeAscii(`${Buffer.prototype.hexSlice.call(b, log.traceStart, log.traceEnd)}"`, json.out);
    }
    json.id(SPAN_ID, log.spanStart, log.spanEnd);
    if (isSampled || (log.flags & 1) === 1) json.raw(SAMPLED);
  }

  /** A map is a JSON payload; everything else is text. */
  private writeBody(severity: number): void {
    const { json, bytes: b } = this;
    const textStart = nextBody(b, log.bodyStart, log.bodyEnd, STRING_VALUE_TAG);
    const isError = this.config.error_reporting_type && severity >= ERROR;
    if (textStart >= 0 && !isError) {
      json.raw(TEXT_PAYLOAD);
      return json.values.text(textStart, bodyEnd);
    }
    const body = plainValueAt(b, log.bodyStart, log.bodyEnd);
    const isMap = typeof body === "object" && body !== null && !Array.isArray(body) && !(body instanceof Uint8Array);
    if (isError)
      json.raw(
        membersOf({ jsonPayload: { ...(isMap ? body : { message: plainValueText(body) }), "@type": ERROR_TYPE } }),
      );
    else json.raw(membersOf(isMap ? { jsonPayload: body } : { textPayload: plainValueText(body) }));
  }

  /**
   * Writes the labels, which are texts: those of resource and scope, the attributes, and the event's name. Returns
   * whether there are attributes of Google, which are no labels.
   */
  private writeLabels(start: number, end: number): boolean {
    const { json, bytes: b, keys } = this;
    const { out } = json;
    const before = out.length;
    json.raw(LABELS);
    const from = out.length;
    json.raw(this.ownerMembers);
    keys.length = 0;
    let hasGoogleKeys = false;
    for (let p = start; (p = nextBody(b, p, end, LOG_ATTRIBUTES_TAG)) >= 0; ) {
      const at = lengthAt;
      p = bodyEnd;
      findKeyAndValue(b, at, p);
      if (isGoogleKey(b, keyStart, keyEnd)) hasGoogleKeys = true;
      else if (!this.ownerKeys.has(b, keyStart, keyEnd)) {
        keys.push(keyStart, keyEnd);
        out.byte(COMMA);
        json.values.text(keyStart, keyEnd);
        out.byte(COLON);
        writeAsText(json, b, valueStart, valueEnd);
      }
    }
    if (hasRepeatedKeys(b, keys)) {
      out.length = before;
      const labels = googleLabelTexts(plainAttributes(b, start, end, LOG_ATTRIBUTES_TAG));
      const event = decodeText(b, log.nameStart, log.nameEnd);
      json.raw(membersOf({ labels: { ...labels, ...this.ownerLabels, "event.name": event || undefined } }));
      return hasGoogleKeys;
    }
    json.text(EVENT_NAME, log.nameStart, log.nameEnd);
    json.close(from);
    return hasGoogleKeys;
  }

  private writeGoogleFields(start: number, end: number): void {
    const { json, bytes: b } = this;
    const own = plainValueText(attributeAt(b, start, end, NAME_KEY));
    if (own !== "") json.raw(this.logNamed(own));
    const httpRequest = httpRequestOf(attributeAt(b, start, end, REQUEST_KEY));
    const sourceLocation = sourceLocationOf(attributeAt(b, start, end, LOCATION_KEY));
    json.raw(membersOf({ httpRequest, sourceLocation }));
  }

  private logNamed(name: string): Uint8Array {
    return membersOf({ logName: `projects/${this.project}/logs/${encodeURIComponent(name)}` });
  }

  private enter(owner: RecordOwner): void {
    const { service_resource_labels: hasService, resource_filters: filters } = this.config;
    const { scopeStart, scopeEnd } = owner;
    const scope = (tag: number) => decodeText(this.bytes, ...message(this.bytes, scopeStart, scopeEnd, tag));
    const [name, version] = [scope(SCOPE_NAME_TAG), scope(SCOPE_VERSION_TAG)];
    this.owner = owner;
    this.shared = Buffer.from(membersOf({ resource: loggingResource(owner.resource) }));
    this.ownerLabels = {
      ...(name !== "" && { instrumentation_source: name }),
      ...(version !== "" && { instrumentation_version: version }),
      ...googleLabelTexts(resourceLabels(owner.resource, hasService, filters)),
    };
    this.ownerMembers = membersOf(this.ownerLabels);
    this.ownerKeys = new KeySet(Object.keys(this.ownerLabels));
  }
}

/** Whether a key starts with "gcp.". */
function isGoogleKey(b: Uint8Array, start: number, end: number): boolean {
  if (end - start < GOOGLE_PREFIX.length) return false;
  for (let i = 0; i < GOOGLE_PREFIX.length; i++) if (b[start + i] !== GOOGLE_PREFIX[i]) return false;
  return true;
}

function attributeAt(b: Uint8Array, start: number, end: number, key: Uint8Array): unknown {
  const at = findAttribute(b, start, end, LOG_ATTRIBUTES_TAG, key);
  return at < 0 ? undefined : attributeValue(b, at);
}

/** Labels of entries keep their names. */
function googleLabelTexts(attributes: Readonly<Record<string, unknown>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(attributes).flatMap(([key, value]) =>
      key.startsWith("gcp.") ? [] : [[key, plainValueText(value)]],
    ),
  );
}

const log = new LogFields();
const ERROR = 17;
const COMMA = 44;
const COLON = 58;
const NOTHING = Buffer.alloc(0);
const GOOGLE_PREFIX = Buffer.from("gcp.");
const NAME_KEY = encodedKey("gcp.log_name");
const REQUEST_KEY = encodedKey("gcp.http_request");
const LOCATION_KEY = encodedKey("gcp.source_location");
const SAMPLED_KEY = encodedKey("gcp.trace_sampled");
const ERROR_TYPE = "type.googleapis.com/google.devtools.clouderrorreporting.v1beta1.ReportedErrorEvent";
const ENTRIES = Buffer.from(',"entries":[');
const BETWEEN = Buffer.from(",");
const TAIL = Buffer.from('],"partialSuccess":true');
const LABELS = labelOf("labels");
const EVENT_NAME = labelOf("event.name");
const TIMESTAMP = labelOf("timestamp");
const TEXT_PAYLOAD = labelOf("textPayload");
const SPAN_ID = labelOf("spanId");
const SAMPLED = Buffer.from(',"traceSampled":true');

/** Cloud Logging's severities, by OpenTelemetry's numbers. */
const SEVERITIES = [
  "",
  "DEBUG",
  "DEBUG",
  "DEBUG",
  "DEBUG",
  "DEBUG",
  "DEBUG",
  "DEBUG",
  "DEBUG",
  "INFO",
  "INFO",
  "NOTICE",
  "NOTICE",
  "WARNING",
  "WARNING",
  "WARNING",
  "WARNING",
  "ERROR",
  "ERROR",
  "ERROR",
  "ERROR",
  "CRITICAL",
  "CRITICAL",
  "ALERT",
  "EMERGENCY",
].map((name) => Buffer.from(name === "" ? "" : `,"severity":"${name}"`));

/** Severity numbers of texts, for records that have no number. */
const SEVERITY_OF_TEXT: Readonly<Record<string, number>> = {
  ...Object.fromEntries(SEVERITY_NUMBER_NAMES.map((name, number) => [String(name ?? "").toLowerCase(), number])),
  notice: 11,
  warning: 13,
  critical: 21,
  alert: 23,
  emergency: 24,
};
