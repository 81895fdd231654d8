import type { ComponentKind } from "#contract";
import { flowYaml, type OtlpReplacement, otlpInstead } from "./otlp-vendors.js";
import type { Registry } from "./registry.js";

/**
 * Knowledge about component types that Sluice does not have. People who bring an old config, or one of another
 * distribution, get advice instead of the most similar name. It applies only while no built-in component or plugin has
 * the type.
 */

const NO_EFFECT_REASONS: Readonly<Record<string, string>> = {
  "extension cgroup_runtime": "Node.js observes the limits of its container without it; remove it",
  "extension datadog": "it reports the Collector's own config to Datadog, in a private form; remove it",
  "extension file_storage":
    "every sending queue is durable anyway, and is kept under extensions.reliability.directory; remove it, or leave it",
  "extension memory_ballast": "Node.js needs no ballast, and the Collector has removed it too; remove it",
  "extension pprof": "Sluice has no pprof endpoint; to profile, start it with node --cpu-prof",
  "processor queued_retry": "every exporter has sending_queue and retry_on_failure, which take its place; remove it",
  "receiver opencensus":
    "OpenCensus is discontinued, and the Collector has removed it; let programs send OTLP to the receiver otlp (old programs can use OpenTelemetry's OpenCensus shim)",
  "exporter opencensus":
    "OpenCensus is discontinued, and the Collector has removed it; send to the same server with otlp_grpc, on its OTLP port (4317)",
};

/**
 * Types that no longer exist, or that only inspect a Go process: a config may name them, but they do nothing. Returns
 * the reason, or undefined for any other type.
 */
export function noEffectReason(kind: ComponentKind, type: string): string | undefined {
  return NO_EFFECT_REASONS[`${kind} ${type}`];
}

/** All types of a kind that have no effect. */
export function noEffectTypes(kind: ComponentKind): string[] {
  const prefix = `${kind} `;
  return Object.keys(NO_EFFECT_REASONS).flatMap((key) => (key.startsWith(prefix) ? [key.slice(prefix.length)] : []));
}

/**
 * Advice about a type that the Collector has or had, and Sluice does not. Undefined for an unknown type, which may be a
 * typing error.
 */
export function adviceOnType(kind: ComponentKind, type: string): string | undefined {
  const own = ADVICE[kind][spelling(type)];
  if (own !== undefined) return own;
  const name = RENAMED[`${kind} ${spelling(type)}`];
  if (name !== undefined) return `it is called ${name}`;
  const replacement = kind === "exporter" ? otlpInstead(type) : undefined;
  if (replacement !== undefined) return otlpAdvice(type, replacement);
  return COLLECTOR_TYPES[kind].has(spelling(type)) ? FALLBACK[kind] : undefined;
}

function otlpAdvice(type: string, { type: otlp, config }: OtlpReplacement): string {
  const fragment = `${otlp}/${type}: ${flowYaml(config)}`;
  return `it accepts OTLP: write \`${fragment}\` among the exporters, and ${otlp}/${type} in pipelines; sluice migrate does this if the old keys contain the necessary values`;
}

/**
 * Advice about a signal that the Collector's exporter of this type takes, though it sends nothing or little of it, and
 * that of Sluice does not take.
 */
export function adviceOnSignal(kind: ComponentKind, type: string, signal: string): string | undefined {
  return SIGNAL_ADVICE[`${kind} ${type} ${signal}`];
}

const SIGNAL_ADVICE: Readonly<Record<string, string>> = {
  "exporter signalfx traces":
    "it never sent spans, only information about which service runs on which host; Splunk accepts spans as OTLP: write " +
    '`otlp_http/splunk: {traces_endpoint: "https://ingest.<realm>.observability.splunkcloud.com/v2/trace/otlp", ' +
    "headers: {X-SF-Token: <access_token>}}` among the exporters, and otlp_http/splunk in this pipeline",
  "exporter signalfx logs":
    "it sends only log records that are events of SignalFx; send log records to Splunk with the exporter splunk_hec",
};

/** Other names of types, by kind and by type as normalised by `spelling`. */
const RENAMED: Readonly<Record<string, string>> = {
  "processor attribute": "attributes",
  "processor resourceattributes": "resource",
  "processor k8stagger": "k8s_attributes",
  "processor samplingtail": "tail_sampling",
  "exporter stdout": "debug",
  "exporter console": "debug",
  "exporter stackdriver": "googlecloud",
};

/**
 * The current name of a type if a config may use an older one: the name of a known component, or of one that is unknown
 * only because of its older name or missing underscores. Undefined if the name is current.
 */
export function currentType(kind: ComponentKind, type: string, registry: Registry): string | undefined {
  const known = registry.get(kind, type);
  if (known === undefined) {
    if (noEffectReason(kind, type) !== undefined) return undefined;
    const name = spelling(RENAMED[`${kind} ${spelling(type)}`] ?? type);
    return registry.all(kind).find((factory) => spelling(factory.type) === name)?.type;
  }
  // The Collector adds underscores to names: of two spellings, the one with more underscores is newer.
  const isNewer = spelling(type) === spelling(known.type) && type.length > known.type.length;
  return known.type === type || isNewer ? undefined : known.type;
}

const CONTAINER_INSIGHT =
  'measure nodes, pods and containers with `kubelet_stats: {auth_type: serviceAccount, endpoint: "https://<node>:10250", metric_groups: [node, pod, container]}`, and add names with the processor k8s_attributes';
const ONLY_SPLUNK =
  "only Splunk's distribution has it: keep a Collector of it, and let it send to the receiver otlp here";
const INTO_OTTL = "use the processor transform: its statements do the same";

/** The successor or replacement of a type, by type as normalised by `spelling`. */
const ADVICE: Readonly<Record<ComponentKind, Readonly<Record<string, string>>>> = {
  receiver: {
    jmx: "run OpenTelemetry's JMX scraper beside the JVM, and let it send to the receiver otlp: `OTEL_JMX_SERVICE_URL=service:jmx:rmi:///jndi/rmi://<endpoint>/jmxrmi OTEL_JMX_TARGET_SYSTEM=<target_system> OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318 OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf java -jar opentelemetry-jmx-scraper.jar`",
    awscontainerinsightreceiver: CONTAINER_INSIGHT,
    awscontainerinsight: CONTAINER_INSIGHT,
    awsxray:
      "let programs send OTLP to the receiver otlp: X-Ray's SDKs are discontinued, and AWS's distribution of OpenTelemetry replaces them",
    datadog: "let programs send OTLP to the receiver otlp",
    smartagent: ONLY_SPLUNK,
    scriptedinputs: ONLY_SPLUNK,
    splunkinputs: ONLY_SPLUNK,
    signalfx: "let its clients send OTLP to the receiver otlp",
    mongodb: scrapedInstead("mongodb", "Percona's mongodb_exporter", 9216),
    loki: "let the programs that push to Loki send OTLP to the receiver otlp",
    sapm: "SAPM was removed from the Collector; let the agent send OTLP to the receiver otlp",
    otelarrow: "take the data as plain OTLP: set arrow.disabled at its exporter, and use the receiver otlp here",
    prometheussimple: "write its endpoint as a static_config of the receiver prometheus",
    prometheusexec: "it was removed from the Collector; start the program yourself and scrape it",
    dotnetdiagnostics:
      "it was removed from the Collector; the OpenTelemetry SDK of .NET sends the same metrics as OTLP",
    nop: "leave it out: a pipeline needs a receiver that brings data",
  },
  processor: {
    servicegraph:
      "it became the connector service_graph: exporter of the pipeline of traces, receiver of one of metrics",
    routing:
      'it became the connector routing: write `routing: {default_pipelines: [traces/other], table: [{context: request, condition: \'request["<from_attribute>"] == "<value>"\', pipelines: [traces/<value>]}]}` among the connectors, routing as exporter of this pipeline, and one pipeline with receivers: [routing] for each list of exporters; a resource attribute is `{context: resource, condition: \'attributes["<from_attribute>"] == "<value>"\'}`',
    count: "it is a connector: exporter of this pipeline, receiver of one of metrics",
    logstransform: INTO_OTTL,
    deltatorate: "let the backend compute rates from the deltas",
    schema: "the processor versioning brings telemetry to another version of a schema",
    geoip: "write your own plugin for this: start with sluice create processor",
    lookup: "write your own plugin for this: start with sluice create processor",
    remotetap: "sluice tap and the console show the records of any pipeline as they pass; remove it",
    drain: "write your own plugin for this: start with sluice create processor",
  },
  exporter: {
    jaegerthrift:
      "it was removed from the Collector; Jaeger accepts OTLP: use otlp_grpc with its port 4317, or jaeger with 14250",
    jaegerthrifthttp: "it was removed from the Collector; Jaeger accepts OTLP: use otlp_http with its port 4318",
    carbon: "it was removed from the Collector; use prometheus, or send to a backend that accepts OTLP",
    otelarrow: "use otlp_grpc: its receiver accepts plain OTLP on the same port",
  },
  connector: {
    roundrobin: "send with one exporter: its queue sends with num_consumers concurrent requests",
    signaltometrics: "use the connectors count and span_metrics, which cover the common cases",
    grafanacloud: "Grafana Cloud derives host metrics from OTLP itself; remove it",
  },
  extension: {
    awsproxy: "remove it: programs send to the receiver otlp, and the exporter awsxray signs its requests itself",
    dockerobserver:
      'use host_observer, which finds the ports that containers publish on this machine, and write its rules with type == "hostport"',
    ecsobserver: "write the targets as file_sd_configs or http_sd_configs of the receiver prometheus",
    smartagent: "remove it: only Splunk's distribution has it",
    asapclient: "use oauth2client or bearertokenauth, if the server accepts them",
    dbstorage: "remove it: every sending queue is durable anyway",
    redisstorage: "remove it: every sending queue is durable anyway",
    remotetap: "remove it: sluice tap and the console show records as they pass",
    sdnotify: "remove it: packaging/sluice.service does not need it",
  },
};

function scrapedInstead(job: string, program: string, port: number): string {
  return (
    `run ${program} and scrape it: write \`prometheus/${job}: {config: {scrape_configs: [{job_name: ${job}, ` +
    `static_configs: [{targets: ["127.0.0.1:${port}"]}]}]}}\` among the receivers; or keep a Collector with this ` +
    "receiver, and let it send to the receiver otlp here"
  );
}

const FALLBACK: Readonly<Record<ComponentKind, string>> = {
  receiver:
    "the Collector has it, but Sluice does not: keep a Collector with this receiver, and let it send to the receiver otlp here",
  processor: "the Collector has it, but Sluice does not: remove it, or write one as a plugin (sluice create processor)",
  exporter:
    "the Collector has it, but Sluice does not: if the backend accepts OTLP, use otlp_http or otlp_grpc; if not, send with otlp_grpc to a Collector that has it",
  connector: "the Collector has it, but Sluice does not: remove it, or write one as a plugin",
  extension: "the Collector has it, but Sluice does not: remove it",
};

/** All types that the Collector and its contrib distribution have or had, without separators. */
const COLLECTOR_TYPES: Readonly<Record<ComponentKind, ReadonlySet<string>>> = {
  receiver: words(`activedirectoryds activedirectoryinv aerospike apache apachespark awscloudwatch
    awscontainerinsight awscontainerinsightreceiver awsecscontainermetrics awsfirehose awslambda awss3 azureblob azureeventhub
    azurefunctions azuremonitor bigip carbon chrony ciscoos cloudflare cloudfoundry collectd couchdb datadog dnscheck
    elasticsearch envoyals expvar filelog filestats flinkmetrics fluentforward github gitlab gitprovider
    googlecloudmonitoring googlecloudpubsub googlecloudpubsubpush googlecloudspanner haproxy hostmetrics httpcheck
    huaweicloudcesreceiver icmpcheckreceiver iis influxdb jmx journald k8scluster k8sevents k8sobjects kafka
    kafkametrics kubeletstats libhoney lokipush macosunifiedlogging memcached mongodb mongodbatlas mysql namedpipe netflow
    nginx nsxt ntp oracledb osquery podmanstats postgresql pprof prometheus pulsar purefa
    purefb rabbitmq redfish redis riak saphana skywalking snmp snowflake solace splunkenterprise
    sqlquery sqlserver sshcheck statsd stef systemd tcpcheck tlscheck vcenter vcr wavefront
    windowseventlog windowsperfcounters windowsservice yanggrpc zookeeper`),
  processor: words(`awsecsattributes cardinalityguardian coralogix datadog datadogsemantics
    dynamicsampling experimentalmetricsgeneration genainormalizer interval isolationforest
    logdedup metricsgeneration metricstarttime spanpruning sumologic unroll`),
  exporter: words(`alertmanager alibabacloudlogservice awskinesis azuredataexplorer
    bmchelix cassandra dataset doris f5cloud faro googlecloudpubsub googlecloudstorage
    googlecloudtrace honeycombmarker humio influxdb kafka kinesis logicmonitor mezmo parquet prometheus
    prometheusremotewrite pulsar rabbitmq sematext stackdriver stef syslog tencentcloudlogservice tinybird`),
  connector: words("metricsaslogs otlpjson slowsql sum"),
  extension:
    words(`ack avrologencoding awsiamdbauth awscloudwatchmetricstreamsencoding awslogsencoding awsproxy azureauth
    azureencoding cfgardenobserver datadog dockerobserver ecsobserver ecstaskobserver fluentbit
    googlecloudlogentryencoding httpforwarder jaegerencoding jaegerremotesampling jsonlogencoding
    mcp otlpencoding pebbletailstorage skywalkingencoding solarwindsapmsettings sumologic
    textencoding zipkinencoding`),
};

function words(text: string): ReadonlySet<string> {
  return new Set(text.trim().split(/\s+/));
}

/** Removes underscores, because the Collector has renamed many types by adding them. */
function spelling(type: string): string {
  return type.toLowerCase().replaceAll("_", "");
}
