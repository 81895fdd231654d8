/**
 * Vendors that take OTLP, and whose own exporters Sluice does not have: what to write instead. The advice about an
 * unknown type shows it as a fragment, and `sluice migrate` puts it in place.
 */
export interface OtlpReplacement {
  readonly type: "otlp_grpc" | "otlp_http";
  readonly config: Readonly<Record<string, unknown>>;
  /** False if the old keys do not tell everything: the gaps are in angle brackets. */
  readonly isComplete: boolean;
}

type WrittenKeys = Readonly<Record<string, unknown>>;

/** Returns the text of a key, or its name in angle brackets. */
type KeyText = (key: string, usual?: string) => string;

interface OtlpVendor {
  readonly type: OtlpReplacement["type"];
  /** Where OTLP goes: keys of the exporter of OTLP. */
  readonly address: (text: KeyText) => Readonly<Record<string, string>>;
  readonly headers?: (text: KeyText, written: WrittenKeys) => Readonly<Record<string, string>>;
}

const http = (endpoint: (text: KeyText) => string, headers?: OtlpVendor["headers"]): OtlpVendor => ({
  type: "otlp_http",
  address: (text) => ({ endpoint: endpoint(text) }),
  ...(headers && { headers }),
});

const grpc = (endpoint: (text: KeyText) => string, headers?: OtlpVendor["headers"]): OtlpVendor => ({
  type: "otlp_grpc",
  address: (text) => ({ endpoint: endpoint(text) }),
  ...(headers && { headers }),
});

/** The vendors, by type without underscores. */
export const OTLP_VENDORS: Readonly<Record<string, OtlpVendor>> = {
  alibabacloudlogservice: grpc(
    (text) => `${text("project")}.${text("endpoint")}:10010`,
    (text) => ({
      "x-sls-otel-project": text("project"),
      "x-sls-otel-instance-id": text("logstore"),
      "x-sls-otel-ak-id": text("access_key_id"),
      "x-sls-otel-ak-secret": text("access_key_secret"),
    }),
  ),
  dynatrace: http(
    (text) =>
      text("endpoint", "https://<environment>.live.dynatrace.com")
        .replace(/\/$|\/api[\s\S]*/, "")
        .concat("/api/v2/otlp"),
    (text) => ({ Authorization: `Api-Token ${text("api_token")}` }),
  ),
  elastic: http(
    (text) => text("apm_server_url"),
    (text, { api_key: key }) => ({
      Authorization: key === undefined ? `Bearer ${text("secret_token")}` : `ApiKey ${text("api_key")}`,
    }),
  ),
  honeycomb: http(
    (text) => text("api_url", "https://api.honeycomb.io"),
    (text, { dataset }) => ({
      "x-honeycomb-team": text("api_key"),
      ...(dataset !== undefined && { "x-honeycomb-dataset": text("dataset") }),
    }),
  ),
  humio: http(
    (text) => text("endpoint").replace(/\/$/, "").concat("/api/v1/ingest/otlp"),
    (text) => ({ Authorization: `Bearer ${text("ingest_token")}` }),
  ),
  instana: grpc(
    () => "<the OTLP host of your region>:443",
    (text) => ({ "x-instana-key": text("agent_key") }),
  ),
  lightstep: grpc(
    () => "ingest.lightstep.com:443",
    (text) => ({ "lightstep-access-token": text("access_token") }),
  ),
  mackerelotlp: grpc(
    () => "otlp.mackerelio.com:4317",
    (text) => ({ "Mackerel-Api-Key": text("api_key") }),
  ),
  newrelic: http(
    () => "https://otlp.nr-data.net",
    (text) => ({ "api-key": text("apikey") }),
  ),
  skywalking: grpc((text) => text("endpoint", "<host>:11800")),
  sumologic: http(() => "<the URL of an OTLP/HTTP source>"),
  tanzuobservability: grpc(() => "<host of the Wavefront proxy>:4317"),
};

/** Keys that every exporter has stay as they are written. */
const KEPT_KEYS = ["timeout", "sending_queue", "retry_on_failure"];

/** Returns undefined for a type that nothing is known of. */
export function otlpInstead(type: string, written: WrittenKeys = {}): OtlpReplacement | undefined {
  const vendor = OTLP_VENDORS[type.toLowerCase().replaceAll("_", "")];
  if (vendor === undefined) return undefined;
  const text: KeyText = (key, usual) => {
    const value = written[key];
    return value === undefined || value === null || value === "" ? (usual ?? `<${key}>`) : String(value);
  };
  const own = { ...vendor.address(text), ...(vendor.headers && { headers: vendor.headers(text, written) }) };
  const kept = KEPT_KEYS.filter((key) => written[key] !== undefined).map((key) => [key, written[key]]);
  return {
    type: vendor.type,
    config: { ...own, ...Object.fromEntries(kept) },
    isComplete: !JSON.stringify(own).includes("<"),
  };
}

/** A value in YAML's flow style, on one line. */
export function flowYaml(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  if (Array.isArray(value)) return `[${value.map(flowYaml).join(", ")}]`;
  return `{${Object.entries(value)
    .map(([key, each]) => `${/^[\w.-]+$/.test(key) ? key : JSON.stringify(key)}: ${flowYaml(each)}`)
    .join(", ")}}`;
}
