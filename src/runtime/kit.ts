/**
 * The internal door: what the components that come with Sluice need beyond `sluice/plugin`. The package does not export
 * it, so that its names may change with any version. A name is here because a component imports it, and never in both
 * doors.
 */

// Component contracts that plugins have no use for: outlets, reports of operators, refusals of others.

export {
  type Admin,
  AdminError,
  DEAD_LETTER_QUERY,
  type DeadLetterEdit,
  type DeadLetterPage,
  type DeadLetterQuery,
  type DeadLetterStats,
  type ExporterStatus,
  type ImportReport,
  RECORD_FILTERS,
  type ReplayOptions,
  type ReplayReport,
  type ReplaySkip,
  type RevealOptions,
  type Selection,
} from "./contract/admin.js";
export {
  AUTH_PREFIX,
  AuthError,
  type AuthenticatedClient,
  type AuthHeaders,
  type ClientAuthenticator,
  type ClientAuthRequest,
  isAuthError,
  type ServerAuthenticator,
  type ServerAuthRequest,
} from "./contract/auth.js";
export { type Blame, blameOf, FAILURE_KINDS, type FailureKind } from "./contract/blame.js";
export { validateRejection } from "./contract/border/read-answers.js";
export { metadataFor } from "./contract/calls/sent-metadata.js";
export type { NamedPipeline } from "./contract/component.js";
export { ACCEPTED, Debt, possiblyRejected } from "./contract/debt.js";
export { directOutlet } from "./contract/direct-outlet.js";
export {
  type Attempt,
  type AttemptError,
  type Cycle,
  type Entry,
  type EntryEdit,
  type Failure,
  revisionOf,
} from "./contract/entry.js";
export { ERROR_CODES, type ErrorCode, hasErrorCode } from "./contract/error-codes.js";
export type { GraphEdge } from "./contract/inspect/graph.js";
export type { AgentInspection, Traffic } from "./contract/inspect/inspection.js";
export { noMetrics, silentLogger } from "./contract/observability.js";
export {
  AUDITED_ACTIONS,
  type AuditedAction,
  type AuditPage,
  type AuditQuery,
  type AuditRecord,
  type Operator,
} from "./contract/operations/audit.js";
export type { DeadLetterGroup, DeadLetterGroups } from "./contract/operations/dead-letter-groups.js";
export { FAILURE_REASONS, FAILURE_RULES, type FailureRule, ruleOf } from "./contract/operations/failure-reasons.js";
export { withIsoTimes } from "./contract/operations/iso-times.js";
export type { ReplayEnd, ReplayJob, ReplayOutcome, ReplaySample } from "./contract/operations/replay-job.js";
export { MAX_MERGED_BYTES, piecesOf } from "./contract/operators/batcher.js";
export { Semaphore } from "./contract/operators/semaphore.js";
export type {
  Batching,
  EndingPipeline,
  EntrySettlement,
  Journal,
  JournalExchange,
  JournalFactory,
  JournalNotes,
  JournalSettings,
  Outlet,
  OutletFactory,
  OutletSettings,
} from "./contract/outlet.js";
export { packageFolder } from "./contract/package-info.js";
export {
  BUSY_RETRY_AFTER_MS,
  chooseRefusal,
  copyRefusal,
  isGenericCode,
  toRefusal,
  type Undelivered,
} from "./contract/refusal.js";
export { authReference } from "./contract/schema/auth-reference.js";
export { type CompleteSettings, completeSettings, type ExporterSettings } from "./contract/schema/exporter-settings.js";
export { glob, parseRecordPattern, type RecordPattern } from "./contract/schema/record-pattern.js";
export { type ConfigPath, configPath, recordPattern } from "./contract/schema/schema.js";
export { withoutUrlSecrets } from "./contract/schema/url-secrets.js";
export { waitAtMost } from "./contract/wait-at-most.js";
export {
  type BatchFacts,
  DEAD_LETTER_FACTS,
  exporterSettingsSchema,
  parseRecordCondition,
  type RecordCondition,
} from "./ottl/compile/record-condition.js";

// Authentication: who a request came from, and what whoever is not let in is answered.

export { adminTokenHash, createAdminToken } from "./kit/auth/admin-token.js";
export {
  type AuthOutcome,
  answerOfAuthError,
  authenticate,
  authMetadata,
  serverAuthenticator,
} from "./kit/auth/authenticate.js";
export {
  clientAuthenticator,
  isNearby,
  OutgoingRequest,
  sendAuthorized,
} from "./kit/auth/authorized-send.js";
export { CredentialGate, type VerifiedCredentials } from "./kit/auth/credential-gate.js";
export { refuseStrangers } from "./kit/auth/refuse-strangers.js";
export { http2AuthRequest, httpAuthRequest, plainAddress } from "./kit/auth/server-auth-request.js";

// Network: addresses, listening, TLS, compression.

export { BoundedOutput, DecompressError } from "./kit/net/compression/bounded-output.js";
export { COMPRESSIONS, compress } from "./kit/net/compression/compress.js";
export { decompress, SUPPORTED_ENCODINGS } from "./kit/net/compression/decompress.js";
export { decodeSnappyBlock, encodeSnappyBlock, MAX_SNAPPY_OFFSET } from "./kit/net/compression/snappy.js";
export { SnappyBlockWriter } from "./kit/net/compression/snappy-block-writer.js";
export { connectionErrorMessage } from "./kit/net/connection-error.js";
export { type ConnectionRefusal, clientOf, limitConnections } from "./kit/net/connection-limits.js";
export {
  formatAddress,
  type HostPort,
  hostPort,
  httpUrl,
  isLoopbackHost,
  listenAddress,
  listenEndpoint,
  parseGrpcTarget,
  parseHostPort,
  protectionOf,
} from "./kit/net/endpoint.js";
export { type HttpClientConfig, httpClientDefaults, httpClientKeys } from "./kit/net/http-client-keys.js";
export { httpHeaders } from "./kit/net/http-headers.js";
export { addressOfUrl, openRequest } from "./kit/net/http-request.js";
export { type HttpServerPlace, type ListeningServer, startHttpServer } from "./kit/net/http-server.js";
export { readOnlyHttpServerKeys } from "./kit/net/http-server-keys.js";
export { Http1Client } from "./kit/net/http1/client.js";
export type { Http1Answer } from "./kit/net/http1/exchange.js";
export { type HttpTarget, hostHeaderName, httpTarget } from "./kit/net/http1/http-target.js";
export { isHeader, type RequestHead } from "./kit/net/http1/request-head.js";
export { http2Warning } from "./kit/net/http2-holes.js";
export { listen, startUnlessPortTaken } from "./kit/net/listen.js";
export { proxyFromEnvironment, proxyOfUrl } from "./kit/net/proxy/proxy.js";
export { isPublicHost, publicLookup } from "./kit/net/public-addresses.js";
export { readAnswer } from "./kit/net/read-answer.js";
export { type SimpleHttpResponse, startSimpleHttpServer } from "./kit/net/simple-http-server.js";
export { tlsClient, tlsServer } from "./kit/net/tls-config.js";
export {
  loadClientTls,
  loadServerTls,
  reloadServerTls,
  renewClientTls,
  type TlsClientOptions,
} from "./kit/net/tls-load.js";
export { answerReader } from "./kit/sending/answer-reader.js";
export { clientSettings, HttpPoster, plainText, withHeaders } from "./kit/sending/http-poster.js";
export {
  cutByKey,
  logTime,
  type MetricKindName,
  type OwnedTree,
  ownedTrees,
  type PlainAttributes,
  type TreeOwner,
  treeAttributes,
  treeHex,
  treesIn,
  treeText,
} from "./kit/sending/owned-trees.js";
export { PostersInTurn } from "./kit/sending/posters-in-turn.js";
export { type RecordRequest, sendEach } from "./kit/sending/send-each.js";
export { type SmallAnswer, sendSmallRequest } from "./kit/sending/small-request.js";
export { type OwnedRecordVisitor, walkOwnedRecords } from "./kit/sending/walk-owned-records.js";

// Kubernetes: lists of its API that are kept up to date.

export { KubernetesApi, SERVICE_ACCOUNT } from "./kit/kubernetes/api-client.js";
export { digitsOf, fieldsOf, listOf, type ObjectFields, textOf, textsOf } from "./kit/kubernetes/read-object.js";
export { type KubernetesObject, WatchedList } from "./kit/kubernetes/watched-list.js";

// OTLP: how requests and answers look over HTTP and gRPC.

export { grpcClientKeys } from "./kit/grpc/client-keys.js";
export { GrpcClient } from "./kit/grpc/grpc-client.js";
export { entriesOfKey, GroupKey } from "./kit/otlp/group-key.js";
export {
  claimedLength,
  type FrameFault,
  GRPC_FRAME_HEADER,
  grpcFrame,
  singleFrame,
} from "./kit/otlp/grpc-frame.js";
export {
  encodeGrpcMessage,
  GRPC_STATUS,
  grpcStatusName,
  parseGrpcTimeout,
} from "./kit/otlp/grpc-status.js";
export {
  answerOfRefusal,
  type ErrorAnswer,
  parseRetryAfter,
  refusalOfConnection,
  refusalOfHttp,
  refusalOfUnreadable,
  retryAfterSeconds,
} from "./kit/otlp/refusals.js";
export { decodeResponse, encodeResponse } from "./kit/otlp/response.js";
export { decodeStatus, encodeStatus, type RpcStatus } from "./kit/otlp/rpc-status.js";
export {
  checkByEmptyExport,
  SendKeys,
  sendHeaders,
  sendTwiceIfStale,
  wordOrNone,
} from "./kit/otlp/sending.js";
export {
  contentTypeOf,
  encodingOf,
  OTLP_SERVICES,
  type OtlpEncoding,
  serviceOfGrpcPath,
} from "./kit/otlp/services.js";

// Metrics: points where they lie, the series they belong to, and the names that Prometheus gives them.

export {
  type BucketCounts,
  type ExponentialCounts,
  writeExponentialCounts,
} from "./kit/metrics/exponential-point.js";
export { type MetricData, type MetricVisitor, message, walkMetrics } from "./kit/metrics/metric-walk.js";
export { PointReader } from "./kit/metrics/point-reader.js";
export {
  labelName,
  type MetricKind,
  metricName,
  nameRules,
  type PrometheusNameRules,
  TRANSLATION_STRATEGIES,
  ucumUnit,
} from "./kit/prometheus/names.js";
export { AttributeKey, eachAttribute } from "./kit/series/attribute-key.js";
export { ByteTable } from "./kit/series/byte-table.js";
export { nextOwnerId, OwnerTable } from "./kit/series/owner-table.js";
export { SeriesTable } from "./kit/series/series-table.js";

// Receivers that measure at intervals.

export { MetricOutput, PointCollector } from "./kit/scraping/point-collector.js";
export { counter, gauge, type MetricTable, optional, upDown } from "./kit/scraping/scraped-metric.js";
export { metricKeys, resourceAttributeKey, scrapingKeys } from "./kit/scraping/scraping-keys.js";
export { type ScrapeMoment, ScrapingReceiver } from "./kit/scraping/scraping-receiver.js";

// Brokers: what all of them share, and connections that receivers and exporters both make.

export { hasClient, loadClient, missingClient, withClient } from "./kit/clients/load-client.js";
export { NATS_CLIENTS, natsConnectionKeys, natsStreamKeys } from "./kit/clients/nats-config.js";
export { NatsLink, type NatsSession, natsErrorMessage, withoutCredentials } from "./kit/clients/nats-link.js";
export { ensureNatsStream, hasNatsCode, NATS_CODES } from "./kit/clients/nats-stream.js";
export {
  columnName,
  POSTGRES_CLIENT,
  postgresConnectionKeys,
  quoteName,
  quoteTable,
  quoteText,
  tableName,
} from "./kit/clients/postgres-config.js";
export {
  FORGET_INTERVAL_MS,
  forgetHandledText,
  handledTableText,
  milliseconds,
} from "./kit/clients/postgres-handled.js";
export {
  AS_TEXT,
  hangUp,
  loadPostgres,
  openPostgres,
  type PostgresClients,
  postgresErrorMessage,
  postgresOptions,
  renewPostgresTls,
  sqlState,
  type TextRow,
} from "./kit/clients/postgres-link.js";
export { reasonLog } from "./kit/clients/reason-log.js";
export { REDIS_CLIENT, redisConnectionKeys } from "./kit/clients/redis-config.js";
export { connectRedis, isRedisError, isRedisReady, redisErrorMessage, redisProblem } from "./kit/clients/redis-link.js";
export { Dedup } from "./kit/dedup/dedup.js";
export { createDedup, dedupSection } from "./kit/dedup/dedup-config.js";
export { authenticatedClient } from "./kit/dedup/entry-digests.js";
export type {
  KafkaAssignment,
  KafkaClient,
  KafkaConsumer,
  KafkaConsumerOptions,
  KafkaFetchResponse,
  KafkaGroupMember,
  KafkaMemberShare,
  KafkaMessage,
  KafkaPartitionAnswer,
  KafkaProducer,
  KafkaProducerOptions,
  KafkaRecord,
  KafkaRecordSet,
  KafkaTopicMetadata,
} from "./kit/kafka/client.js";
export {
  KAFKA_CLIENT,
  kafkaConnection,
  kafkaConnectionKeys,
  kafkaErrorIds,
  kafkaErrorMessage,
  renewKafkaTls,
} from "./kit/kafka/connection.js";
export {
  jsonText,
  type KeyValueTree,
  plainAttributes,
  plainObject,
  plainValue,
  plainValueText,
} from "./kit/messages/any-value.js";
export { BatchIntake, type MessageOutcome } from "./kit/messages/batch-intake.js";
export { DEAD_LETTER_PREFIX, type DeadLetterAttributes, deadLetterOf } from "./kit/messages/dead-letter-attributes.js";
export {
  type HeaderValue,
  type IncomingMessage,
  MESSAGE_ENCODINGS,
  MESSAGE_HEADERS,
  type MessageEncoding,
} from "./kit/messages/message.js";
export { MessageIntake, type MessageIntakeSettings } from "./kit/messages/message-intake.js";
export {
  findKeyAndValue,
  KeySet,
  keyEnd,
  keyStart,
  PlainJsonWriter,
  valueEnd,
  valueStart,
} from "./kit/messages/plain-json.js";
export { rejectOnAbort, sendAll } from "./kit/messages/reject-on-abort.js";
export { type WrittenMessage, writeMessages } from "./kit/messages/write-messages.js";
export { OldestFirstMap } from "./kit/oldest-first-map.js";
export { closeConnection, RABBITMQ_CLIENT, RabbitClient, rabbitConnection } from "./kit/rabbitmq/connection.js";
export { ReturnedMessages } from "./kit/rabbitmq/returned-messages.js";

// Log records from texts, and what is done to them on the way.

export { EntryTemplate } from "./kit/log-operators/entry-expression.js";
export type { EntrySeverity } from "./kit/log-operators/entry-severity.js";
export type { EntryTime } from "./kit/log-operators/entry-time.js";
export { JsonAttributes } from "./kit/log-operators/json-attributes.js";
export { LogBatchWriter } from "./kit/log-operators/log-batch-writer.js";
export { encodeScopeName, LogEntry, writeEntry } from "./kit/log-operators/log-entry.js";
export { encodeAttributes, type LogMap, type LogValue, newLogMap, setValue } from "./kit/log-operators/log-value.js";
export { OperatorChain } from "./kit/log-operators/operator-chain.js";
export { type OperatorConfig, operatorsSchema } from "./kit/log-operators/operator-schema.js";
export { isPlainJsonParser } from "./kit/log-operators/parse-operators.js";
export {
  type CutState,
  type CutterSettings,
  createCutter,
  type RecordCutter,
  type RecordSink,
} from "./kit/log-operators/record-cutter.js";
export { textEncoding } from "./kit/log-operators/text-encoding.js";
export { parseLayout } from "./kit/time/time-layout.js";
export { parseTime } from "./kit/time/time-parse.js";

// Jaeger: what its spans call things.

export {
  JAEGER_GRPC_PATH,
  JAEGER_KINDS,
  JAEGER_REF_TYPES,
  JAEGER_TAG_TYPES,
  JAEGER_TAGS,
  NO_JAEGER_SERVICE,
} from "./kit/jaeger-tags.js";

// Zipkin: its spans, and those of OTLP.

export { ZipkinBatchWriter } from "./kit/zipkin/from-zipkin.js";
export { type ConvertibleSpan, linkText, zipkinSpansOf } from "./kit/zipkin/to-zipkin.js";
export {
  ENDPOINT_KEYS,
  NO_SERVICE_NAME,
  SERVICE_NAME_KEYS,
  ZIPKIN_KINDS,
  ZIPKIN_TAGS,
  type ZipkinEndpoint,
  type ZipkinSpan,
} from "./kit/zipkin/zipkin-span.js";

// State that several agents share.

export {
  checkSharedState,
  SharedRedis,
  type SharedRedisConfig,
  sharedRedisOf,
  sharedStateKeys,
} from "./kit/shared/shared-redis.js";
export { withResource } from "./kit/shared/with-resource.js";

// Text, patterns, hashes and counters.

export { crc32c, maskCrc } from "./kit/crc32c.js";
export { environmentVariable } from "./kit/environment.js";
export { FNV32_START, FNV64_START, fnv32, fnv64 } from "./kit/fnv.js";
export { ByteScan } from "./kit/match/byte-scan.js";
export { compilePattern, type Pattern } from "./kit/match/pattern.js";
export { makePrivate, makePrivateDirectory, PRIVATE_FILE_MODE } from "./kit/private-files.js";
export { duplicatesCounter, type ReceiverCounters, receiverCounters } from "./kit/receiver-counters.js";
export { ResourceStamp, stampResources } from "./kit/resource-stamp.js";
export { splitLines } from "./kit/text/split-lines.js";
export { type Paint, painterFor, printable, type Style } from "./kit/text/terminal.js";

// OTTL: conditions and statements, run by a component that reads the contexts and places in the config itself.

export { type Condition, compileCondition, type Statement } from "./ottl/compile/compile.js";
export { composed, textFits, textIsOneOf, valueIs } from "./ottl/compile/composed-condition.js";
export { type AddOttlIssue, compileEach, contextOfGroup, type OttlIssue } from "./ottl/compile/config-texts.js";
export { ERROR_MODES, type ErrorMode, errorHandler } from "./ottl/compile/error-mode.js";
export { type CompiledGroup, compileIn, compileInferred, ottlIssue } from "./ottl/compile/infer-context.js";
export { compileMetricExpressions } from "./ottl/compile/metric-expression.js";
export { tryOttl } from "./ottl/compile/playground.js";
export {
  anyMatches,
  ConditionSet,
  dropWhere,
  keepWhere,
  type OnOttlError,
  partitionWhere,
  transformBatch,
} from "./ottl/compile/run.js";
export {
  AGGREGATIONS,
  type Aggregation,
  aggregatePoints,
} from "./ottl/functions/metric/aggregate.js";
export { kindOf, pointsOf } from "./ottl/functions/metric/metric-tree.js";
export {
  CONTEXT_SHAPES,
  CONTEXT_SIGNALS,
  CONTEXTS_INSIDE_RECORDS,
  type ContextName,
  RECORD_CONTEXTS,
  SIGNAL_CONTEXTS,
} from "./ottl/paths/context.js";
export { quoteJson } from "./ottl/values/conversions.js";
export { isOttlError, isOttlSyntaxError } from "./ottl/values/error.js";
export type { OttlValue } from "./ottl/values/value.js";

// Wire bytes: fields, messages and texts.

export { decodeMessage, type TreeValue } from "./telemetry/bytes/decode.js";
export { decodeText } from "./telemetry/bytes/decode-text.js";
export { encodeMessage } from "./telemetry/bytes/encode.js";
export {
  SEVERITIES,
  SEVERITY_NUMBER_NAMES,
  SEVERITY_NUMBERS,
  type Severity,
  SPAN_KIND_SYMBOLS,
  SPAN_KINDS,
  STATUS_CODES,
  TEMPORALITIES,
} from "./telemetry/bytes/enum-names.js";
export { KeyCache } from "./telemetry/bytes/key-cache.js";
export { attributesTagOf, MESSAGES, type Message, POINT_ATTRIBUTES_TAGS, REQUEST } from "./telemetry/bytes/messages.js";
export { NameCache } from "./telemetry/bytes/name-cache.js";
export {
  joinNanos,
  micros,
  nanos,
  nanosHigh,
  nanosLow,
  seconds,
  splitMicros,
  splitNanos,
  toMicros,
} from "./telemetry/bytes/nanoseconds.js";
export { RecentTexts } from "./telemetry/bytes/recent-texts.js";
export { Rewriter } from "./telemetry/bytes/rewriter.js";
export {
  countRecords,
  type FieldRange,
  fieldsBesideRecords,
  leadsToRecord,
  SHAPES,
  type SignalShape,
} from "./telemetry/bytes/signal.js";
export {
  ARRAY_VALUE_TAG,
  BOOL_VALUE_TAG,
  BYTES_VALUE_TAG,
  DATA_POINT_TIME_TAG,
  DOUBLE_VALUE_TAG,
  ELEMENT_TAG,
  INT_VALUE_TAG,
  KEY_TAG,
  KVLIST_VALUE_TAG,
  LOG_ATTRIBUTES_TAG,
  LOG_BODY_TAG,
  LOG_EVENT_NAME_TAG,
  LOG_FLAGS_TAG,
  LOG_OBSERVED_TIME_TAG,
  LOG_SEVERITY_NUMBER_TAG,
  LOG_SEVERITY_TEXT_TAG,
  LOG_SPAN_ID_TAG,
  LOG_TIME_TAG,
  LOG_TRACE_ID_TAG,
  OWNER_TAG,
  RESOURCE_ATTRIBUTES_TAG,
  RESOURCE_CONTAINER_TAG,
  SCOPE_ATTRIBUTES_TAG,
  SCOPE_CONTAINER_TAG,
  SCOPE_ITEM_TAG,
  SCOPE_NAME_TAG,
  SCOPE_VERSION_TAG,
  SPAN_ATTRIBUTES_TAG,
  SPAN_END_TIME_TAG,
  SPAN_EVENT_ATTRIBUTES_TAG,
  SPAN_EVENT_DROPPED_TAG,
  SPAN_EVENT_NAME_TAG,
  SPAN_EVENT_TIME_TAG,
  SPAN_EVENTS_TAG,
  SPAN_FLAGS_TAG,
  SPAN_ID_TAG,
  SPAN_KIND_TAG,
  SPAN_LINK_ATTRIBUTES_TAG,
  SPAN_LINK_SPAN_ID_TAG,
  SPAN_LINK_TRACE_ID_TAG,
  SPAN_LINKS_TAG,
  SPAN_NAME_TAG,
  SPAN_PARENT_ID_TAG,
  SPAN_START_TIME_TAG,
  SPAN_STATUS_TAG,
  SPAN_TRACE_ID_TAG,
  SPAN_TRACE_STATE_TAG,
  STATUS_CODE_TAG,
  STATUS_MESSAGE_TAG,
  STRING_VALUE_TAG,
  TAG_LIMIT,
  VALUE_TAG,
} from "./telemetry/bytes/tags.js";
export { type WasmFunction, WasmSource } from "./telemetry/bytes/wasm/wasm-source.js";
export * as wasm from "./telemetry/bytes/wasm/wasm-writer.js";
export {
  after,
  double,
  findField,
  fixed32,
  highHalf,
  LENGTH_DELIMITED,
  lowHalf,
  putVarint,
  skip,
  varint,
  varint64,
  varintHalves,
  varintSize,
  viewOf,
} from "./telemetry/bytes/wire.js";
export { writeUtf8 } from "./telemetry/bytes/write-utf8.js";
export { WireWriter } from "./telemetry/bytes/writer.js";
export { batchToJsonBytes } from "./telemetry/json/batch-json.js";

// Walks over records, and what is read and written on the way.

export { RecordViews } from "./telemetry/edit/edit-records.js";
export { partition, partitionByMarks } from "./telemetry/edit/partition.js";
export { eachPoint, type PlacedRecord, placedRecords } from "./telemetry/json/placed-record.js";
export { findUnknownMember } from "./telemetry/json/unknown-member.js";
export { putDecimal, putDecimal64 } from "./telemetry/json/write-decimal.js";
export { writeAscii, writeEscaped, writeHex, writeText } from "./telemetry/json/write-text.js";
export { attributeValue, encodedKey, findAttribute, hasKey } from "./telemetry/views/attributes.js";
export { RecordReader, recordAttributesTag } from "./telemetry/views/record-reader.js";
export { DROP, type Frame, KEEP, type RecordVisitor, RecordWalk, type Verdict } from "./telemetry/views/record-walk.js";
export { readValue, valueText, writeKeyValue } from "./telemetry/views/value.js";
