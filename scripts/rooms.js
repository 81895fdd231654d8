/**
 * Every folder below src: what it is for, and what it may import beside itself and the folders in it. The architecture test
 * holds the code to this table, and CONTRIBUTING's map is made from it (`node scripts/room-map.js`).
 *
 * `imports` names folders (with all that is in them) and files. A folder without it is part of the one above: it has that
 * one's. `component: true` marks a family of components: it imports the two doors, and nothing else outside itself.
 *
 * @typedef {{ path: string, purpose: string, imports?: readonly string[], component?: boolean }} Room
 */

const CONTRACT = ["src/runtime/contract/", "src/runtime/telemetry/"];
const CONFIG = [...CONTRACT, "src/runtime/host/registry.ts"];

/** @type {readonly Room[]} */
export const ROOMS = [
  {
    path: "src/",
    purpose: "the doors of the package: embedding, plugins, OTTL, tests, the OpenTelemetry SDK, pino",
    imports: ["src/runtime/", "src/processors/versioning/"],
  },
  {
    path: "src/runtime/",
    purpose: "what runs components; `kit.ts` is the internal door to it for those that come with Sluice",
  },
  { path: "src/runtime/telemetry/", purpose: "a batch: OTLP wire bytes of one signal", imports: [] },
  { path: "src/runtime/telemetry/bytes/", purpose: "the wire form: fields, values, check, decode and encode" },
  { path: "src/runtime/telemetry/views/", purpose: "walks over records, and the views of them that plugins see" },
  { path: "src/runtime/telemetry/edit/", purpose: "edits of records, split and partition of batches" },
  { path: "src/runtime/telemetry/json/", purpose: "OTLP/JSON and plain objects" },
  {
    path: "src/runtime/contract/",
    purpose: "what a component is; deliveries and debts; refusals; schema helpers",
    imports: ["src/runtime/telemetry/"],
  },
  {
    path: "src/runtime/contract/border/",
    purpose: "guards against careless plugins: what they make, hand on, answer, throw and let go of",
  },
  { path: "src/runtime/contract/operations/", purpose: "what is kept and told of what operators do" },
  { path: "src/runtime/contract/calls/", purpose: "calls of exporters: their signals and their time" },
  { path: "src/runtime/contract/inspect/", purpose: "what can be seen of a running agent's components" },
  {
    path: "src/runtime/contract/operators/",
    purpose: "what processors are made with: eachBatch, eachRecord, statefulProcessor, batching",
  },
  {
    path: "src/runtime/contract/schema/",
    purpose: "what config schemas are made with, and the keys every exporter has",
  },
  { path: "src/runtime/kit/", purpose: "what several components need and plugins do not get", imports: CONTRACT },
  {
    path: "src/runtime/kit/auth/",
    purpose: "asking authenticators about requests; what all by credentials share: recognising, delays, counts",
  },
  { path: "src/runtime/kit/match/", purpose: "patterns in linear time" },
  { path: "src/runtime/kit/net/", purpose: "listening, TLS, endpoints, compression" },
  {
    path: "src/runtime/kit/net/compression/",
    purpose: "Content-Encodings: gzip, zstd, snappy, lz4; bounded when undone",
  },
  {
    path: "src/runtime/kit/net/proxy/",
    purpose: "proxies of the config and the environment, and tunnels through them",
  },
  { path: "src/runtime/kit/net/http1/", purpose: "an HTTP/1.1 client for one origin" },
  { path: "src/runtime/kit/otlp/", purpose: "the OTLP protocol over HTTP and gRPC" },
  { path: "src/runtime/kit/text/", purpose: "text for terminals" },
  {
    path: "src/runtime/ottl/",
    purpose: "the OTTL language over bytes",
    imports: [...CONTRACT, "src/runtime/kit/"],
  },
  { path: "src/runtime/ottl/syntax/", purpose: "from text to a syntax tree" },
  { path: "src/runtime/ottl/values/", purpose: "values: comparison, arithmetic, conversion, limits" },
  { path: "src/runtime/ottl/paths/", purpose: 'what a path such as `attributes["a"]` reads and writes in a record' },
  { path: "src/runtime/ottl/functions/", purpose: "editors and converters" },
  { path: "src/runtime/ottl/functions/text/", purpose: "what they are made of: times, grok, user agents, formats" },
  { path: "src/runtime/ottl/compile/", purpose: "conditions and statements, compiled and run on batches" },
  {
    path: "src/runtime/pipeline/",
    purpose: "intake, isolation, fan-out, graph, run (the one subscribe)",
    imports: CONTRACT,
  },
  {
    path: "src/runtime/config/",
    purpose: "from sources to a resolved config; problems with their places",
    imports: CONFIG,
  },
  {
    path: "src/runtime/config/text/",
    purpose: "YAML to nodes that know their place; merging and substitution",
    imports: ["src/runtime/contract/"],
  },
  {
    path: "src/runtime/config/schema/",
    purpose: "what a schema says: of keys, warnings, JSON Schema",
    imports: [
      ...CONFIG,
      "src/runtime/config/text/",
      "src/runtime/kit/net/endpoint.ts",
      "src/runtime/kit/net/tls-config.ts",
    ],
  },
  {
    path: "src/runtime/config/secrets/",
    purpose: "what must not be shown, and showing the rest",
    imports: [...CONFIG, "src/runtime/config/schema/", "src/runtime/config/text/"],
  },
  {
    path: "src/runtime/config/resolve/",
    purpose: "components and pipelines: checked, linked, resolved",
    imports: [
      ...CONFIG,
      "src/runtime/kit/net/endpoint.ts",
      "src/runtime/ottl/",
      "src/runtime/config/secrets/",
      "src/runtime/config/schema/",
      "src/runtime/config/text/",
    ],
  },
  {
    path: "src/runtime/host/",
    purpose: "the agent: starts and stops a config; the list of built-in components",
    imports: [
      ...CONTRACT,
      "src/runtime/config/",
      "src/runtime/pipeline/",
      "src/runtime/kit/",
      "src/receivers/",
      "src/processors/",
      "src/exporters/",
      "src/connectors/",
      "src/extensions/",
    ],
  },
  {
    path: "src/runtime/host/plugins/",
    purpose: "finds, loads and watches components of others",
    imports: [...CONTRACT, "src/runtime/config/", "src/runtime/host/registry.ts", "src/runtime/host/errors/"],
  },
  {
    path: "src/runtime/host/errors/",
    purpose: "what people are shown of errors: problems of a config, and places in the source",
    imports: [...CONTRACT, "src/runtime/config/"],
  },
  {
    path: "src/runtime/host/self-telemetry/",
    purpose: "the agent's own logs and metrics",
    imports: [...CONTRACT, "src/runtime/config/", "src/runtime/kit/", "src/runtime/host/errors/"],
  },
  { path: "src/runtime/embed/", purpose: "Sluice inside a program", imports: ["src/runtime/"] },
  { path: "src/runtime/embed/pino/", purpose: "pino's lines as log records" },
  { path: "src/runtime/embed/sdk/", purpose: "exporters for the OpenTelemetry SDK in the same process" },
  { path: "src/runtime/cli/", purpose: "one file a command", imports: ["src/runtime/"] },
  {
    path: "src/runtime/cli/agent/",
    purpose: "`sluice status` and `sluice exporter`, and how commands ask a running agent",
  },
  { path: "src/runtime/cli/print/", purpose: "what commands print: tables, times, sizes" },
  { path: "src/runtime/cli/completion/", purpose: "`sluice completion`: a file for each shell" },
  { path: "src/runtime/cli/config-tests/", purpose: "`sluice test`: a config tried on records" },
  { path: "src/runtime/cli/graph/", purpose: "`sluice graph`: pipelines as Mermaid and SVG" },
  { path: "src/runtime/cli/init/", purpose: "`sluice init`: a config to start from" },
  { path: "src/runtime/cli/live/", purpose: "`sluice top`, `sluice tap` and `sluice ottl`" },
  { path: "src/runtime/cli/create/", purpose: "`sluice create`: the package of a new component" },
  {
    path: "src/runtime/cli/dlq/",
    purpose: "`sluice dlq`: over a running agent's API, or on the queues themselves when none runs",
    imports: ["src/runtime/", "src/extensions/reliability/"],
  },
  {
    path: "src/runtime/testing/",
    purpose: "what `sluice/testing` offers: pipelines in memory, a clock, exporters that fail as told",
    imports: ["src/runtime/", "src/extensions/reliability/"],
  },
  { path: "src/runtime/testing/conformance/", purpose: "suites that hold a component to its contract" },
  { path: "src/receivers/", purpose: "one component, one file or folder", component: true },
  { path: "src/receivers/otlp/", purpose: "OTLP over HTTP and gRPC: reading, answering, stopping", component: true },
  { path: "src/processors/", purpose: "one component or one family of them, one file or folder", component: true },
  { path: "src/processors/attributes/", purpose: "`attributes` and `resource`", component: true },
  { path: "src/processors/filter/", purpose: "drops by conditions", component: true },
  { path: "src/processors/groupbyattrs/", purpose: "regroups records under resources", component: true },
  { path: "src/processors/pii/", purpose: "personal data and secrets: fields, texts, strategies", component: true },
  { path: "src/processors/pii/detect/", purpose: "the scan that runs all detectors together" },
  {
    path: "src/processors/pii/detect/text/",
    purpose: "what detectors read texts with: kinds of characters, runs, matches, the work they count",
  },
  { path: "src/processors/pii/detect/numbers/", purpose: "what is made of digits: one file a detector" },
  { path: "src/processors/pii/detect/secrets/", purpose: "tokens, keys and passwords" },
  { path: "src/processors/pii/redaction/", purpose: "the Collector's `redaction`" },
  { path: "src/processors/rate-limit/", purpose: "so many of a kind in any window", component: true },
  { path: "src/processors/sampling/", purpose: "what the three samplers share", component: true },
  { path: "src/processors/sampling/probabilistic/", purpose: "by share, consistently" },
  { path: "src/processors/sampling/adaptive/", purpose: "by load and errors" },
  { path: "src/processors/sampling/tail/", purpose: "of whole traces" },
  { path: "src/processors/transform/", purpose: "OTTL statements", component: true },
  {
    path: "src/processors/versioning/",
    purpose:
      "events and schemas brought up to date; `defineVersioning` is part of the public door, so this room is behind it",
    imports: CONTRACT,
  },
  { path: "src/exporters/", purpose: "one component, one file or folder", component: true },
  { path: "src/exporters/debug/", purpose: "prints what it gets", component: true },
  { path: "src/exporters/file/", purpose: "appends to files, with rotation", component: true },
  { path: "src/exporters/otlp-grpc/", purpose: "OTLP over gRPC", component: true },
  { path: "src/exporters/otlp-http/", purpose: "OTLP over HTTP", component: true },
  { path: "src/connectors/", purpose: "one component, one file or folder", component: true },
  { path: "src/connectors/count/", purpose: "counts records as metrics", component: true },
  { path: "src/connectors/failover/", purpose: "the next pipelines when the first cannot take it", component: true },
  { path: "src/connectors/routing/", purpose: "pipelines by condition", component: true },
  { path: "src/extensions/", purpose: "one component, one file or folder", component: true },
  { path: "src/extensions/auth/", purpose: "who a request came from, and who we are to a server", component: true },
  { path: "src/extensions/auth/basic/", purpose: "`basicauth`: users and passwords" },
  { path: "src/extensions/auth/bearer/", purpose: "`bearertokenauth`: tokens that both sides know" },
  { path: "src/extensions/auth/oidc/", purpose: "`oidc`: tokens that an issuer has signed, and its keys" },
  { path: "src/extensions/auth/oauth2/", purpose: "`oauth2client`: tokens of an OAuth 2.0 server" },
  { path: "src/extensions/auth/headers/", purpose: "`headers_setter`: headers by whose data it is" },
  { path: "src/extensions/auth/sigv4/", purpose: "`sigv4auth`: requests signed for AWS" },
  { path: "src/extensions/admin-api/", purpose: "the HTTP API of operators", component: true },
  { path: "src/extensions/admin-api/console/", purpose: "serves the console that the build made from `console/`" },
  { path: "src/extensions/admin-api/live/", purpose: "what runs and what passes: graph, rates, taps" },
  {
    path: "src/extensions/reliability/",
    purpose:
      "what wraps every exporter: durable queue, retries, breaker, dead letters, replay; `entry-lifecycle.ts` is the way of an entry",
    component: true,
  },
  { path: "src/extensions/reliability/entry/", purpose: "an entry of the queue, and what happened to it" },
  { path: "src/extensions/reliability/admit/", purpose: "from a delivery to an entry on disk, or a refusal" },
  {
    path: "src/extensions/reliability/intake/",
    purpose: "the journal of a pipeline: answers clients, hands what they sent to the processors, keeps their notes",
  },
  { path: "src/extensions/reliability/schedule/", purpose: "which entry is sent next, and when" },
  {
    path: "src/extensions/reliability/send/",
    purpose: "one attempt and its outcome: timeout, breaker, classification, bisection",
  },
  {
    path: "src/extensions/reliability/dead-letters/",
    purpose: "what could not be delivered: kept, found, replayed, removed",
  },
  { path: "src/extensions/reliability/dead-letters/transfer/", purpose: "dead letters as lines, out and in again" },
  {
    path: "src/extensions/reliability/operate/",
    purpose: "what operators see and do; metrics; queues without an agent",
  },
  {
    path: "src/extensions/reliability/records/",
    purpose: "what operators did: the audit, replays and what became of their entries",
  },
  {
    path: "src/extensions/reliability/store/",
    purpose: "the queue's store: its contract, on disk, in memory, or none",
  },
  {
    path: "src/extensions/reliability/store/encryption/",
    purpose: "values encrypted: keys, and which of them a store needs",
  },
  { path: "src/extensions/reliability/store/format/", purpose: "our keys and values on disk, with checksums" },
  { path: "src/extensions/reliability/store/level/", purpose: "our queue on LevelDB: commits, reads, compaction" },
  {
    path: "src/extensions/reliability/store/level/open/",
    purpose: "opening a store: disk space, repair, recount, what is set aside",
  },
  { path: "src/extensions/reliability/store/leveldb-files/", purpose: "LevelDB's own files: read, checked and mended" },
];
