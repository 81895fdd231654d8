import {
  attributeValue,
  bodyEnd,
  decodeMessage,
  encodedKey,
  findAttribute,
  MESSAGES,
  nextBody,
  varint,
  type WireWriter,
} from "#otlp/bytes";
import { DocumentJson, labelOf, membersOf, plainAttributes, plainValue, plainValueText } from "#otlp/json";
import { LOG_ATTRIBUTES_TAG, STRING_VALUE_TAG } from "#otlp/tags";
import { monitoredResource } from "../google-resource.js";
import { resourceLabels } from "../google-series.js";
import { VendorLogFields } from "../record-fields.generated.js";
import type { RecordOwner, RecordPage } from "../record-pages.js";
import type { GoogleCloudConfig } from "./config.js";

/** Writes log records as a request of entries.write of Cloud Logging. */
export class GoogleLogWriter {
  private readonly bytes: Uint8Array;
  private readonly json: DocumentJson;
  private readonly project: string;
  private readonly config: GoogleCloudConfig["log"];
  private owner: RecordOwner | undefined;
  private shared: Uint8Array = new Uint8Array(0);
  private ownerLabels: Readonly<Record<string, string>> = {};

  constructor(bytes: Uint8Array, out: WireWriter, project: string, { log: config }: GoogleCloudConfig) {
    this.bytes = bytes;
    this.json = new DocumentJson(bytes, out);
    this.project = project;
    this.config = config;
  }

  write(page: RecordPage): void {
    const { json } = this;
    const { out } = json;
    json.raw(HEAD);
    let isFirst = true;
    page.each((start, end, owner) => {
      if (!isFirst) out.byte(COMMA);
      isFirst = false;
      this.writeEntry(start, end, owner);
    });
    json.raw(TAIL);
  }

  private writeEntry(start: number, end: number, owner: RecordOwner): void {
    const { json, bytes: b } = this;
    const { out } = json;
    log.read(b, start, end);
    const from = out.length;
    if (owner !== this.owner) this.enter(owner);
    json.raw(LOG_NAME);
    json.raw(Buffer.from(JSON.stringify(`projects/${this.project}/logs/${this.logName(start, end)}`)));
    json.raw(this.shared);
    const timeAt = json.hasTime(log.timeAt) ? log.timeAt : log.observedAt;
    if (json.hasTime(timeAt)) json.isoTime(TIMESTAMP, timeAt);
    json.raw(SEVERITIES[log.severityNumber] ?? NOTHING);
    this.writeBody();
    const labels = googleLabelTexts(plainAttributes(b, start, end, LOG_ATTRIBUTES_TAG));
    json.raw(membersOf({ labels: { ...this.ownerLabels, ...labels } }));
    this.writeTrace();
    json.close(from);
  }

  private writeTrace(): void {
    const { json, bytes: b } = this;
    if (log.traceEnd > log.traceStart) {
      const id = Buffer.prototype.hexSlice.call(b, log.traceStart, log.traceEnd);
      json.raw(Buffer.from(`,"trace":${JSON.stringify(`projects/${this.project}/traces/${id}`)}`));
    }
    json.id(SPAN_ID, log.spanStart, log.spanEnd);
    if (log.flagsAt >= 0 && (varint(b, log.flagsAt) & 1) === 1) json.raw(SAMPLED);
  }

  /** A map is a JSON payload; everything else is text. */
  private writeBody(): void {
    const { json, bytes: b } = this;
    const textStart = nextBody(b, log.bodyStart, log.bodyEnd, STRING_VALUE_TAG);
    const isError = this.config.error_reporting_type && log.severityNumber >= ERROR;
    if (textStart >= 0 && !isError) {
      json.raw(TEXT_PAYLOAD);
      return json.values.text(textStart, bodyEnd);
    }
    const body = plainValue(decodeMessage(ANY_VALUE, b, log.bodyStart, log.bodyEnd));
    const isMap = typeof body === "object" && body !== null && !Array.isArray(body) && !(body instanceof Uint8Array);
    if (isError)
      json.raw(
        membersOf({ jsonPayload: { ...(isMap ? body : { message: plainValueText(body) }), "@type": ERROR_TYPE } }),
      );
    else json.raw(membersOf(isMap ? { jsonPayload: body } : { textPayload: plainValueText(body) }));
  }

  private logName(start: number, end: number): string {
    const at = findAttribute(this.bytes, start, end, LOG_ATTRIBUTES_TAG, NAME_KEY);
    const own = at < 0 ? "" : plainValueText(attributeValue(this.bytes, at));
    return encodeURIComponent(own || this.config.default_log_name || "opentelemetry");
  }

  private enter(owner: RecordOwner): void {
    const { service_resource_labels: hasService, resource_filters: filters } = this.config;
    this.owner = owner;
    this.shared = membersOf({ resource: monitoredResource(owner.resource) });
    this.ownerLabels = resourceLabels(owner.resource, hasService, filters);
  }
}

/** Labels of entries keep their names. */
function googleLabelTexts(attributes: Readonly<Record<string, unknown>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(attributes).flatMap(([key, value]) =>
      key === "gcp.log_name" ? [] : [[key, plainValueText(value)]],
    ),
  );
}

const log = new VendorLogFields();
const ERROR = 17;
const COMMA = 44;
const NOTHING = Buffer.alloc(0);
const ANY_VALUE = MESSAGES["AnyValue"]!;
const NAME_KEY = encodedKey("gcp.log_name");
const ERROR_TYPE = "type.googleapis.com/google.devtools.clouderrorreporting.v1beta1.ReportedErrorEvent";
const HEAD = Buffer.from('{"entries":[');
const TAIL = Buffer.from('],"partialSuccess":true}');
const LOG_NAME = labelOf("logName");
const TIMESTAMP = labelOf("timestamp");
const TEXT_PAYLOAD = labelOf("textPayload");
const SPAN_ID = labelOf("spanId");
const SAMPLED = Buffer.from(',"traceSampled":true');

/** Cloud Logging's severities, by OpenTelemetry's numbers. */
const SEVERITIES = [
  ...["", "DEBUG", "DEBUG", "DEBUG", "DEBUG", "DEBUG", "DEBUG", "DEBUG", "DEBUG", "INFO", "INFO", "NOTICE", "NOTICE"],
  ...["WARNING", "WARNING", "WARNING", "WARNING", "ERROR", "ERROR", "ERROR", "ERROR"],
  ...["CRITICAL", "CRITICAL", "ALERT", "EMERGENCY"],
].map((name) => Buffer.from(name === "" ? "" : `,"severity":"${name}"`));
