/**
 * What Sluice promises, row by row, in the words in which it was asked for. A letter is a subject, and each letter has a
 * file of tests. Where a row was corrected or extended later, the later words stand behind the first and win over them.
 *
 * [e11y], [foodies], [adr54], [skill] and [story] name the documents that asked for the behaviour.
 */
export const ROWS = {
  R1: [
    "Exponential backoff: initial 1 s, multiplier 2, cap 60 s, max 5 retries [foodies, adr54]; per exporter override [e11y].",
    "Also accept the Collector's retry_on_failure keys (initial_interval, max_interval, multiplier, randomization_factor, max_elapsed_time, enabled).",
  ],
  R2: [
    "Jitter modes: full (default: uniform in 0..delay) [adr54, skill], proportional (+- factor) [foodies, e11y], none.",
  ],
  R3: ["Retry-After / RetryInfo wins when longer than the backoff."],
  R4: ["Every attempt is recorded on the entry: time, error class, delay (bounded list) [skill]."],
  R5: ["A retry in progress is cancelled cleanly at shutdown; the entry stays queued."],
  R6: [
    "Retry rate limit, separate from the main rate limit, token bucket per exporter, default 100 retries/s; on excess: delay (default), dead_letter, drop; staged recovery: after an outage the backlog drains in bounded batches, never as a stampede [e11y 3.5].",
  ],
  R7: ["A first attempt is not a retry, and never waits for the retry limiter."],
  R8: [
    "Linear and fixed backoff beside exponential [skill]. Ramp after a restart too [e11y staged recovery: batch size, interval].",
    "R8, corrected: the ramp follows *failure*, not a restart. A backend that answered last time is drained at full speed at once.",
  ],
  R9: [
    "Whose failure it is: failures of the way spend no attempt, ever; failures about the entry spend one each, probes included. An outage makes no dead letter, and a poison that is alone becomes one after a bounded number of calls [foodies, adr54, story].",
  ],
  R10: ["Every exporter with a queue retries by default; a full disk is a failure of the way [e11y, foodies]."],
  C1: [
    "transient / throttled / permanent{schema, business, integration} [foodies, adr54, skill]; unknown = transient.",
  ],
  C2: [
    "HTTP: 429, 502, 503, 504, other 5xx, disconnects, timeouts, DNS and socket errors transient (429/503 throttled when they carry Retry-After); other 4xx permanent. gRPC by the OTLP table. Exporters and config can add rules (retry_on, permanent_on).",
  ],
  C3: ["A permanent error gets exactly one call (bisection aside) and never counts against the breaker."],
  B1: [
    "closed -> open after 5 consecutive failures; open for 30 s; half-open admits 1 probe at a time; 2 successes close it; any failure reopens [foodies, skill; e11y: 60 s, 3]. Per exporter. Optionally a failure-rate window beside the consecutive count.",
  ],
  B2: [
    "While open: entries wait in the queue, attempts not spent (default `on_open: hold`); `on_open: dead_letter` for those who want the fast fail of [e11y].",
  ],
  B3: ["Self-healing: an exporter with a health check is probed in the background while open [e11y 7.1]."],
  B4: ["One exporter's breaker never affects another's; others deliver at full speed [e11y 6]."],
  B5: ["State, transitions and rejections are metrics, events on the log, and visible in health, CLI and console."],
  D1: [
    "Entry states pending -> in_flight -> delivered | failed; the DLQ is the filter state = failed on the same store [adr54 D1].",
  ],
  D2: [
    "An entry keeps: id, idempotency key, exporter, pipeline, signal, item count, bytes, enqueued_at, attempts, first_failed_at, last_attempt_at, failed_at, category, reason (retry_exhausted, permanent, poison, rate_limited, circuit_open, queue_full, expired ...), last error (class, message, status; stack only if asked for), attempt history, failure history, source (receiver, client metadata that is safe to keep), event names and trace ids (a sample), schema versions, config generation [story, adr54, skill, foodies].",
  ],
  D3: [
    "Bounded: max bytes, max entries, max age; when full: refuse (default, backpressure to the client), drop_oldest, drop_newest; sentinel errors for closed and full [story].",
  ],
  D4: [
    "Retention of dead letters: TTL 24 h..30 d configurable, size cap, which end goes first; expiry is counted and logged, never silent; cleanup runs by itself [foodies, e11y, skill].",
  ],
  D5: [
    "Storage interface with save, list (limit, cursor, filters), get, replay, replay_batch, delete, purge, stats [e11y 4.1]; LevelDB is the default; in-memory and no-op stores exist for tests [story]; the interface allows Redis [e11y 4.3] later.",
  ],
  D6: [
    "Restart and crash: in-flight entries become pending again, in order, none lost, none unreadable because another is corrupt.",
  ],
  D7: [
    "DLQ filter: never_save > always_save > save_if (condition) > default save; patterns on event name, severity, attributes; discards are counted [e11y 4.4].",
  ],
  D8: [
    "The rate limiter asks the same filter before dropping: what the filter would always save goes to the DLQ with reason rate_limited [e11y C02].",
  ],
  D9: ["A failing dead-letter write never takes the pipeline down, and is itself counted."],
  D10: [
    "`save_if` sees error class, exporter, attempts; the rate limiter asks the whole filter [e11y 4.4, C02]. Entries keep client metadata, event version, stack on request; in-flight entries read as in_flight. Quarantine by category with its own retention [skill].",
  ],
  D11: [
    "Breaker state and a known outage outlive a restart. No damage of the store's files ends the process, alone or in pairs.",
  ],
  D12: [
    "What leaves us as a dead letter (DLX, dead-letter topic, forward_to) carries error, attempts, times and source [skill, story].",
    "D12 also for `forward_to`: class, reason, exporter, attempts, as the entry has them.",
  ],
  D13: [
    "The changes of one entry are applied in one order, in memory and on disk, however slow the disk is; one unreadable entry stops nothing else: not listing, not expiry, not replay [adr54, e11y].",
  ],
  X1: [
    "The same error class 3 times within 60 s on the same entry, while others succeed: poison, no more futile retries; quarantined under a category (schema_error, downstream_timeout ...) [skill].",
    'X1, as it is written: three failures of the same class within 60 s on the same entry while others succeed end it, by default, whatever the failure looks like: an answer, a reset, a hang, an unreadable success [skill]; "while others succeed" means that at most one in ten of the other calls failed in that window and at least 20 other entries got through since the entry\'s first failure.',
  ],
  X2: ["Bisection isolates the bad records of a batch; the good ones are delivered once."],
  X3: ["A poison entry never blocks those behind it."],
  P1: [
    "In place: snapshot the cycle into failure_history, clear attempts/last_error/first_failed_at, state pending, same id and idempotency key, new generation, replayed_by [adr54 D5].",
  ],
  P2: [
    "One, many, by filter, by error signature, all; bounded batches (50) and a rate; dry run that only counts; a cap on replays per entry; approval flag for high-risk replays [skill].",
  ],
  P3: [
    "Checks in order: approved, schema valid, not expired, downstream healthy (breaker not open); each skip is reported with its reason (skip_schema, skip_expired, skip_downstream ...) [skill].",
  ],
  P4: [
    "Replayed entries pass through the versioning step again, so an old schema version is upcast, not refused; PII already treated is not treated twice (a hash stays the same hash).",
  ],
  P5: [
    "Optional automatic replay of transient dead letters when the exporter has recovered: schedule, batch size, max age [e11y 7.2].",
  ],
  P6: ["Replay that fails again: the entry is back in the DLQ with one more history cycle, nothing lost."],
  P7: [
    "Dedup: the idempotency key travels with the export (header), and a Sluice receiver can drop what it has already taken.",
  ],
  P8: [
    "Headers on what is replayed: x-replayed, x-original-id, x-replay-attempt [skill]. Caller-supplied generation; soft delete [adr54]. Durable handled-memory (event_handled) [adr54]. Edit and replay; replay elsewhere; outcome awaited.",
  ],
  P9: [
    "The same message delivered twice has the same key, two messages never do. A message or entry without a key of its sender gets one from its source (topic, partition and offset; queue and delivery; id), before anything remembers keys. The empty key does not exist [skill, adr54].",
  ],
  L1: [
    "Token bucket, correct for any window (100 per 60 s admits at most 100 plus burst in any 60 s); global (10,000/s) and per key (event name 1,000/s; any attribute, resource or client metadata); bounded number of keys.",
  ],
  L2: ["On excess: drop, dead_letter, refuse (429 to the client); D8 holds."],
  L3: [
    "Bypass by severity, event pattern, condition; documented as forgeable, may require authenticated clients [e11y 4.6.3].",
  ],
  S1: [
    "Head sampling: probabilistic, consistent on trace id, the Collector's probabilistic_sampler keys (hash_seed, proportional, equalizing modes); sampling priority attributes.",
  ],
  S2: ["Per severity and per event-name rates; audit events exempt; the rate applied is written on what is kept."],
  S3: [
    "Adaptive: error spike (100/min absolute or 3x the moving average of the window before it, hold 300 s) raises to 1.0; load tiers (1k/10k/50k per s -> 1.0/0.5/0.1/0.01) with hysteresis; value rules (gt, lt, equals, in range on dotted paths) keep.",
  ],
  S4: [
    "One trace, one outcome; an error in an unsampled trace is kept. Stratified correction factors available to metrics.",
  ],
  S5: [
    "Tail sampling for traces: decision_wait, num_traces, policies (latency, status_code, string/numeric/boolean attribute, probabilistic, rate_limiting, span_count, and, composite), memory bounded, durable debt.",
  ],
  I1: [
    "Field strategies mask, hash (keyed, stable), partial, redact, allow; by key, key pattern and nested path, on attributes, body (string and structured), resource, span events, links, metric attributes.",
  ],
  I2: [
    "Value detectors built in: e-mail, phone, payment card (Luhn), SSN, IPv4/IPv6, IBAN, JWT, API keys and bearer tokens, URL credentials; each can be switched; user patterns in linear time. 'process_token_renewal_completed' is not a secret.",
  ],
  I3: [
    "An allowed field is left whole; a masked one beside it is masked; per-exporter treatment by pipelines (audit gets the original, no other exporter's bytes ever contain it).",
  ],
  I4: [
    "Summary attributes of what was treated (count, keys) if asked for. < 5 % false positives on ordinary logs. Fails closed: if the processor errs, the record does not pass untreated.",
  ],
  I5: ["The Collector's redaction keys (allow_all_keys, allowed_keys, blocked_values, hash_function ...) accepted."],
  V1: [
    "Version from an attribute (event.version), else a name suffix (order.paid.v2, OrderPaidV2), else 1; downstream sees the plain name, and the version when it is > 1.",
  ],
  V2: [
    "Upcasters declared in YAML (rename, set, remove, convert) or in a plugin, chained 1->2->3 to the current version; unknown or newer versions: pass, dead_letter or drop; deprecated versions counted.",
  ],
  V3: ["The OpenTelemetry schema_url: translate attribute names between schema versions from a schema file."],
  V4: ["Works on replay (P4)."],
  H1: [
    "health endpoint with status UP / DEGRADED / DOWN per exporter: breaker state, dead letters, queue depth, last processed at, failure rate; DOWN when a breaker is open, DEGRADED when dead letters > 100; 200 or 503 [foodies 7].",
  ],
  H2: [
    "Metrics: sent, failed, retries by attempt, exhausted, permanent, breaker state/opened/closed/rejected, dead letters total by reason and error class, write failures, size, oldest age, attempts before DLQ (histogram), filtered out, replayed, replay failed, retry limiter allowed/limited, health checks [all]. Prometheus endpoint and OTLP.",
  ],
  H3: [
    "Ready alert rules and a Grafana dashboard: breaker open, DLQ depth > 100, oldest > 30 min, one error class > 50 %, retry rate high [e11y, skill, story].",
  ],
  H4: ["Every transition to failed is logged once, with id, exporter, event, last error, attempts [adr54 D7]."],
  H5: [
    "Retry-delay histogram, waiting-retries gauge, silent-failure counters, failure trend; configurable thresholds; DEGRADED may be 503 [foodies]; notification of failed entries (Sentry, webhook) [adr54].",
  ],
  H6: [
    "Receivers have health: unreachable brokers and failing scrapes are DOWN, with metrics and alerts [foodies section 7].",
  ],
  H7: [
    "Metrics by event name, source queue or topic, and handler, with bounded cardinality [e11y 8, foodies 6, story].",
  ],
  E1: [
    "In a Node app the runtime never throws into business code unless asked: fail_on_error false swallows, dead-letters and counts; true raises; settable per call or scope [e11y C18].",
  ],
  E2: ["In-process exporters for the OpenTelemetry SDK (logs, traces, metrics), no network hop; a pino transport."],
  E3: [
    "The handlers of frameworks people have (NestJS, BullMQ) get R, C, B, X, P, K without leaving them [foodies, story].",
  ],
  O1: [
    "CLI: list, show, replay, delete, purge, export, stats of dead letters, human and --json output [foodies phase 5, adr54 D6].",
  ],
  O2: ["A web console for the same, and for the live pipeline."],
  O3: [
    'Every drop names its rule and place; an operator can ask why for one record or trace, and gets an answer or "unknown".',
  ],
  K1: [
    "Consumers: ack/nack per message, prefetch, retry topology with TTL queues and DLX, handler wrapper with retry, breaker, DLQ [foodies, skill, story].",
  ],
  K2: ["Outbox in Postgres: SKIP LOCKED, ordered per key [adr54]."],
  K3: ["Redis store and shared limits [e11y]."],
  K4: [
    "The outbox row tells the handler's outcome (delivered, failed, attempts, last_error, first_failed_at, generation, deleted_at); replay from SQL and from the command line are one act; a handled key is never handled again, over restarts and agents [adr54].",
    "ADR-54's SQL call `(event_id uuid, p_new_generation bigint, p_replayed_by text)` is accepted as it stands.",
  ],
  K5: [
    "`{topic}.dlq` for Kafka [story]; TTL and length of declared queues [foodies]; SQS [skill]; delivery metadata for handlers [skill].",
  ],
} as const satisfies Readonly<Record<string, readonly string[]>>;

export type RowNumber = keyof typeof ROWS;

/** The rows in order: by letter, then by number. */
export const ROW_NUMBERS = Object.keys(ROWS) as RowNumber[];
