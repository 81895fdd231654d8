/**
 * The internal door: what the components that come with Sluice need beyond `sluice/plugin`. The package does not export
 * it, so that its names may change with any version. A name is here because a component imports it, and never in both
 * doors.
 */

// Component contracts that plugins have no use for: outlets, reports of operators, refusals of others.

export {
  type Admin,
  AdminError,
  type DeadLetterPage,
  type DeadLetterQuery,
  type DeadLetterStats,
  type ExporterStatus,
  type ImportReport,
  type ReplayOptions,
  type ReplayReport,
  type ReplaySkip,
  type Selection,
} from "./contract/admin.js";
export type { NamedPipeline } from "./contract/component.js";
export { validateRejection } from "./contract/delivery.js";
export { directOutlet } from "./contract/direct-outlet.js";
export {
  type AttemptError,
  type Cycle,
  type Entry,
  FAILURE_REASONS,
  type Failure,
} from "./contract/entry.js";
export { noMetrics, silentLogger } from "./contract/observability.js";
export type { Outlet, OutletFactory, OutletSettings } from "./contract/outlet.js";
export { chooseRefusal, toRefusal } from "./contract/refusal.js";

// Schemas: the keys every exporter has, patterns of records, files that belong to a config.

export { type CompleteSettings, completeSettings, type ExporterSettings } from "./contract/schema/exporter-settings.js";
export { glob, parseRecordPattern, type RecordPattern } from "./contract/schema/record-pattern.js";
export { type ConfigPath, configPath, recordPattern } from "./contract/schema/schema.js";
export { exporterSettingsSchema, parseRecordCondition, type RecordCondition } from "./ottl/compile/record-condition.js";

// Network: addresses, listening, TLS, compression.

export { DecompressError, decompress, gzip, SUPPORTED_ENCODINGS } from "./kit/net/compression.js";
export {
  formatAddress,
  type GrpcTarget,
  grpcTarget,
  type HostPort,
  httpUrl,
  listenAddress,
  listenEndpoint,
  parseHostPort,
} from "./kit/net/endpoint.js";
export { listen } from "./kit/net/listen.js";
export {
  isPortInUse,
  listenFailure,
  type SimpleHttpResponse,
  type SimpleHttpServer,
  startSimpleHttpServer,
} from "./kit/net/simple-http-server.js";
export { tlsClient, tlsServer } from "./kit/net/tls-config.js";
export { loadClientTls, loadServerTls, reloadServerTls, type TlsClientOptions } from "./kit/net/tls-load.js";

// The OTLP protocol over HTTP and gRPC.

export {
  claimedLength,
  type FrameFault,
  GRPC_FRAME_HEADER,
  grpcFrame,
  grpcFrameHeader,
  singleFrame,
} from "./kit/otlp/grpc-frame.js";
export {
  decodeGrpcMessage,
  encodeGrpcMessage,
  GRPC_STATUS,
  grpcCodeOfHttp,
  grpcStatusName,
  parseGrpcTimeout,
} from "./kit/otlp/grpc-status.js";
export {
  answerOfRefusal,
  type ErrorAnswer,
  parseRetryAfter,
  refusalOfAbort,
  refusalOfConnection,
  refusalOfGrpc,
  refusalOfHttp,
  retryAfterSeconds,
  TOO_LARGE_CODE,
} from "./kit/otlp/refusals.js";
export { decodeResponse, encodeResponse } from "./kit/otlp/response.js";
export { decodeStatus, encodeStatus, type RpcStatus } from "./kit/otlp/rpc-status.js";
export {
  contentTypeOf,
  encodingOf,
  OTLP_SERVICES,
  type OtlpEncoding,
  type OtlpService,
  serviceOfGrpcPath,
} from "./kit/otlp/services.js";

// Text, patterns and hashes.

export { FNV32_START, FNV64_START, fnv32, fnv64 } from "./kit/fnv.js";
export { compilePattern, type Pattern } from "./kit/match/pattern.js";
export { splitLines } from "./kit/text/split-lines.js";
export { type Paint, painterFor, printable, type Style } from "./kit/text/terminal.js";

// OTTL: conditions and statements, run by a component that reads the contexts and places in the config itself.

export type { Condition, Statement } from "./ottl/compile/compile.js";
export { ERROR_MODES, type ErrorMode, errorHandler } from "./ottl/compile/error-mode.js";
export {
  type CompiledGroup,
  compileIn,
  compileInferred,
  contextNamed,
  ottlIssue,
  SIGNAL_CONTEXTS,
} from "./ottl/compile/infer-context.js";
export {
  anyMatches,
  ConditionSet,
  dropWhere,
  keepWhere,
  type OnOttlError,
  partitionWhere,
  transformBatch,
} from "./ottl/compile/run.js";
export { CONTEXT_SHAPES, CONTEXT_SIGNALS, type ContextName } from "./ottl/paths/context.js";
export { isOttlSyntaxError } from "./ottl/values/error.js";

// Wire bytes: fields, messages and texts.

export { decodeMessage, decodeText } from "./telemetry/bytes/decode.js";
export { MESSAGES, type Message, REQUEST } from "./telemetry/bytes/messages.js";
export { RecentTexts } from "./telemetry/bytes/recent-texts.js";
export { Rewriter } from "./telemetry/bytes/rewriter.js";
export { SHAPES, type SignalShape } from "./telemetry/bytes/signal.js";
export {
  after,
  double,
  findField,
  fixed32,
  LENGTH_DELIMITED,
  putVarint,
  skip,
  varint,
  varint64,
  varintSize,
} from "./telemetry/bytes/wire.js";
export { WireWriter } from "./telemetry/bytes/writer.js";

// Walks over records, and what is read and written on the way.

export { RecordViews } from "./telemetry/edit/edit-records.js";
export { partitionByMarks } from "./telemetry/edit/partition.js";
export type { TreeValue } from "./telemetry/json/tree.js";
export { attributeValue, encodedKey, findAttribute, hasKey } from "./telemetry/views/attributes.js";
export { RecordReader } from "./telemetry/views/record-reader.js";
export { DROP, KEEP, type RecordVisitor, RecordWalk, type Verdict } from "./telemetry/views/record-walk.js";
export { readValue, writeKeyValue } from "./telemetry/views/value.js";
