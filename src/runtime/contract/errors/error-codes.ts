import { MALFORMED_CODE } from "#otlp/signals";

/**
 * Why data was not taken, and what its sender should do.
 *
 * - `transient`: retry later; nothing is wrong with the data.
 * - `throttled`: retry, but not before `retryAfterMs`.
 * - `permanent`: the same data will be refused again; never retry it unchanged.
 */
export type RefusalKind = "transient" | "throttled" | "permanent";

/** The facts about an error code, for the person who meets it. */
export interface ErrorFacts {
  /** Where the code appears: in the answer to a sender, on a dead letter, or in a thrown error. */
  readonly appearsIn: "refusal" | "dead_letter" | "thrown";
  /** Whether the sender may retry; absent if that varies, or if nothing was sent. */
  readonly kind?: RefusalKind;
  readonly cause: string;
  readonly action: string;
}

/**
 * All codes that Sluice assigns to errors, refusals and dead letters. They are stable: programs and configs
 * (`retry_on_failure.retry_on`, `permanent_on`) use them. `node scripts/pages/error-reference.js` generates `docs/reference/errors.md`
 * from this table.
 */
export const ERRORS = {
  SLUICE_ABORTED: {
    appearsIn: "refusal",
    kind: "transient",
    cause:
      "A send was aborted before the answer arrived: the agent is stopping, or the client no longer waits for the result.",
    action:
      "Nothing: the data is sent again. `service.shutdown_timeout` limits how long sends may take during shutdown.",
  },
  SLUICE_AGENT_START: {
    appearsIn: "thrown",
    cause:
      "The agent could not start as configured; nothing is left running. `problems` lists each reason with its place.",
    action: "Fix what each problem names, such as a port that is in use or a certificate that cannot be read.",
  },
  SLUICE_BAD_RECORD: {
    appearsIn: "refusal",
    kind: "permanent",
    cause:
      "A record that the program handed in cannot be written as OTLP, for example because it is not an object or a getter throws.",
    action: "Fix the call that the message describes. The other records of the same call are not affected.",
  },
  SLUICE_BREAKER_OPEN: {
    appearsIn: "dead_letter",
    kind: "transient",
    cause: "The circuit breaker of the exporter was open, and `circuit_breaker.on_open` is `dead_letter`.",
    action:
      "Replay once the backend answers again. With `on_open: hold`, the default, entries wait in the queue instead.",
  },
  SLUICE_BROKER_DEAD_LETTER: {
    appearsIn: "dead_letter",
    kind: "permanent",
    cause: "The message was in a dead-letter queue of the broker, which a receiver with `as_dead_letters` has read.",
    action: "Fix the cause that the message names, and replay it: to its queue again, or to another exporter.",
  },
  SLUICE_COMPONENT_FAILED: {
    appearsIn: "refusal",
    kind: "transient",
    cause: "The stream of a processor or connector ended in an error; what it held was refused, and it was restarted.",
    action: "Look for the component in the log, which has the message and the cause. Senders keep the data and retry.",
  },
  SLUICE_CONFIG: {
    appearsIn: "thrown",
    cause:
      "The config that a program gave to Sluice cannot be run. `problems` lists all config errors with their places.",
    action: "Fix each problem; their codes are explained under [problems of a config](#problems-of-a-config).",
  },
  SLUICE_CONTRACT: {
    appearsIn: "thrown",
    cause: "A component was built for another version of the plugin contract than this Sluice has.",
    action: "If the plugin is newer, update Sluice. If it is older, update or rebuild the plugin.",
  },
  SLUICE_DEAD_LETTERED: {
    appearsIn: "refusal",
    kind: "permanent",
    cause: "With `sending_queue.wait_for_result`: the data could not be delivered, and is kept as a dead letter.",
    action:
      "Do not send it again. `sluice dlq show` explains the dead letter that the message names; replay it once the cause is fixed.",
  },
  SLUICE_DISCARDED: {
    appearsIn: "refusal",
    kind: "permanent",
    cause:
      "The data could not be delivered and was not kept: `dead_letter.filter` leaves it out, or a retry was over `retry_on_failure.rate_limit` with `on_excess: drop`.",
    action:
      "Nothing, if that is intended. Otherwise let `dead_letter.filter` save it, or set `on_excess` to `delay` or `dead_letter`.",
  },
  SLUICE_DELIVERY_LOST: {
    appearsIn: "refusal",
    kind: "transient",
    cause:
      "The operator of a plugin lost a delivery: it neither handed it on nor settled it, as a plain `filter(...)` does.",
    action:
      "Fix the component that the log names: `delivery.drop()` says that data is not wanted, as the [recipes](../extend/rxjs-recipes.md) show.",
  },
  SLUICE_EXPIRED: {
    appearsIn: "dead_letter",
    kind: "transient",
    cause: "The entry waited longer than `sending_queue.max_age`, and had not been tried yet.",
    action: "Replay it if it is still worth sending. Raise `max_age`, or find out why the queue does not drain.",
  },
  SLUICE_FILE_WRITE: {
    appearsIn: "refusal",
    kind: "transient",
    cause: "The file exporter cannot write. The message contains the file and the operating system's error.",
    action: "Free space on the disk, or give the agent the right to write there.",
  },
  [MALFORMED_CODE]: {
    appearsIn: "refusal",
    kind: "permanent",
    cause: "The data is not the OTLP message that it claims to be. The message says at which byte reading stopped.",
    action:
      "Check the sender. Common causes: an old or different encoder, a wrong content type, a proxy that changes bodies.",
  },
  SLUICE_MEMORY: {
    appearsIn: "refusal",
    kind: "throttled",
    cause: "The process uses more memory than the `memory_limiter` processor allows.",
    action:
      "Nothing, if it is brief: senders retry. Otherwise raise the limit, give the process more memory, or send less.",
  },
  SLUICE_MESSAGE_TOO_LARGE: {
    appearsIn: "dead_letter",
    kind: "permanent",
    cause: "A single record is larger than the broker's exporter may send in a message.",
    action:
      "Raise `max_message_size` of the exporter, as far as the broker allows, and replay; or shorten such records.",
  },
  SLUICE_MESSAGE_UNREADABLE: {
    appearsIn: "dead_letter",
    kind: "permanent",
    cause:
      "A message of a broker is not what the receiver's `encoding` says, or is larger than its `max_message_size`. The dead letter contains the original bytes and headers.",
    action:
      "Look at the message with `sluice dlq show`, and fix its sender, or the receiver's `encoding`, or raise `max_message_size`.",
  },
  SLUICE_NO_BATCH: {
    appearsIn: "refusal",
    cause:
      "A component, or the program that embeds Sluice, handed on a value that is not a batch, or a batch of another signal. If a receiver or the program caused the error, it is permanent. If a processor caused it, senders may retry.",
    action:
      "Fix the component that the message names: make batches with `Batch.admit` or the helpers of `sluice/plugin`.",
  },
  SLUICE_NO_ENDPOINTS: {
    appearsIn: "refusal",
    kind: "transient",
    cause: "The resolver of `load_balancing` has found no endpoint: data waits in the queue.",
    action:
      "Look at the log for why: a name that does not resolve, a service without ready pods, or an API server that does not let the agent read `endpointslices`.",
  },
  SLUICE_NO_PIPELINE: {
    appearsIn: "refusal",
    kind: "permanent",
    cause: "The program emits a signal that no pipeline reads from the receiver `app`.",
    action: "Write `receivers: [app]` into a pipeline of that signal, or stop emitting it.",
  },
  SLUICE_NO_RESULT: {
    appearsIn: "refusal",
    kind: "transient",
    cause: "The function of a processor returned neither a batch nor `null`: most often a `return` is missing.",
    action: "Return the batch to pass it on, several to split it, a dead letter to set it aside, `null` to drop it.",
  },
  SLUICE_NO_ROUTE: {
    appearsIn: "refusal",
    kind: "transient",
    cause: "A connector chose a pipeline that it does not feed, or a processor chose one at all.",
    action:
      "Fix the component that the log names: a route lists pipelines that have the connector among their receivers.",
  },
  SLUICE_NOT_STARTED: {
    appearsIn: "refusal",
    kind: "transient",
    cause: "A program emitted telemetry before its Sluice was started.",
    action: "`await sluice.start()` before the first record.",
  },
  SLUICE_OTTL: {
    appearsIn: "thrown",
    cause: "An OTTL condition or statement failed on a record: a value of the wrong type, text that does not parse.",
    action: "Guard it with a condition, such as `IsString(body)`; `error_mode` determines what happens to the record.",
  },
  SLUICE_OTTL_SYNTAX: {
    appearsIn: "thrown",
    cause:
      "An OTTL condition or statement cannot be compiled. `offset` and `length` say which part of its text is meant.",
    action: "Fix that part; the message says what is expected, and [the functions](ottl-functions.md) are listed.",
  },
  SLUICE_CRASH_LOOP: {
    appearsIn: "dead_letter",
    kind: "permanent",
    cause: "A worker crashed or hung several times in a row while it sent or processed this entry.",
    action:
      "Find the component that crashes: the agent's log has the details. Replay the entry when the component is fixed.",
  },
  SLUICE_ORPHANED: {
    appearsIn: "dead_letter",
    kind: "transient",
    cause:
      "The exporter of the entry was removed from the config, and another one has [adopted](../operate/reload.md) its queue.",
    action: "Nothing: the other exporter sends the entry. While the entry is being moved, wait.",
  },
  SLUICE_OVERLOADED: {
    appearsIn: "refusal",
    kind: "throttled",
    cause: "The requests in progress have reached the limit `service.intake.max_bytes`.",
    action: "Nothing, if it is brief: senders retry. Otherwise look for the exporter that is slow, or raise the limit.",
  },
  SLUICE_PARTIAL_SUCCESS: {
    appearsIn: "dead_letter",
    kind: "permanent",
    cause: "The backend accepted the request but rejected some of its records permanently, without saying which.",
    action:
      "Read its message, fix the problem, and replay it with `--approve`: that sends all records of the request again.",
  },
  SLUICE_PARTLY_REJECTED: {
    appearsIn: "refusal",
    kind: "permanent",
    cause: "A backend accepted the program's batch, but rejected some of its records.",
    action:
      "Read the backend's message and fix the rejected records. Do not send all of them again: the others were accepted.",
  },
  SLUICE_PERMANENT: {
    appearsIn: "refusal",
    kind: "permanent",
    cause: "A component or a backend refused the data permanently and gave no code of its own.",
    action: "Read the message. The `status` of a dead letter contains the backend's own status.",
  },
  SLUICE_PII_FAILED: {
    appearsIn: "refusal",
    kind: "permanent",
    cause: "The `pii` processor could not treat a batch, and did not let it pass untreated.",
    action: "The log names the kind of error, without the data. Please report it; a smaller request may pass.",
  },
  SLUICE_PRINT: {
    appearsIn: "refusal",
    kind: "transient",
    cause: "The `debug` exporter cannot write to its output, such as a pipe whose reader has left.",
    action: "Restart the reader, or remove the exporter from the pipeline.",
  },
  SLUICE_QUEUE_FULL: {
    appearsIn: "refusal",
    kind: "throttled",
    cause:
      "The sending queue of an exporter is as large as `queue_size` or `max_bytes` allows. With `on_full: drop_oldest` or `drop_newest`, entries removed to make room become dead letters with this code.",
    action:
      "Find out why the exporter does not keep up (`sluice dlq stats`, its breaker, its errors), or raise `queue_size` or `max_bytes`.",
  },
  SLUICE_QUEUE_WRITE: {
    appearsIn: "refusal",
    kind: "transient",
    cause: "The sending queue cannot be written to its disk. If the disk is full, the message says so.",
    action: "Free space, or fix the disk below the directory of the extension `reliability`. Nothing was acknowledged.",
  },
  SLUICE_RATE_LIMITED: {
    appearsIn: "refusal",
    cause:
      "More records came than the `rate_limit` processor allows. With `on_excess: dead_letter` they become dead letters. A refused request may be retried, unless it is so large that it never fits.",
    action: "Raise the limit or the burst, choose a finer key, or have the sender send smaller requests.",
  },
  SLUICE_RECORD_TOO_LARGE: {
    appearsIn: "refusal",
    kind: "permanent",
    cause:
      "A processor, connector or replay step made a record, resource, scope or metric larger than `service.max_record_size`, or OTTL statements made a batch grow by more than four times this size.",
    action:
      "Look at the component that the message names: it adds too much. Raise `service.max_record_size` if such records are intended. With `error_mode: dead_letter` of the pipeline, the other records are passed on and the large ones are kept as dead letters.",
  },
  SLUICE_REDACTION_FAILED: {
    appearsIn: "refusal",
    kind: "permanent",
    cause: "The `redaction` processor could not treat a batch, and did not let it pass untreated.",
    action: "The log names the kind of error, without the data. Please report it; a smaller request may pass.",
  },
  SLUICE_REGROUP_OVERFLOW: {
    appearsIn: "thrown",
    cause:
      "`groupbyattrs` would have multiplied a batch: too much data around its records would be repeated for each group.",
    action: "The batch is passed on without grouping, and the log says so. Group by keys that have fewer values.",
  },
  SLUICE_REJECTED: {
    appearsIn: "dead_letter",
    kind: "permanent",
    cause: "A processor made dead letters of the records and gave no code of its own.",
    action: "Read the message; replay once the problem is fixed.",
  },
  SLUICE_REPLAY_NO_PIPELINE: {
    appearsIn: "dead_letter",
    kind: "permanent",
    cause:
      "The pipeline of a replayed dead letter is not in the config: it was renamed, or the dead letter comes from elsewhere. Sluice therefore does not know which replay steps it needs, such as those of `pii`. Nothing was sent.",
    action:
      "Replay it with `--pipeline NAME` to apply the steps of that pipeline, or with `--as-is` to send it unchanged.",
  },
  SLUICE_REPLAY_REFUSED: {
    appearsIn: "dead_letter",
    kind: "permanent",
    cause:
      "The steps that a pipeline has for replayed data refused a dead letter, or left records out. Nothing was sent; the stored records are unchanged.",
    action: "Fix the processor that the message names, or its config, and replay again.",
  },
  SLUICE_RETRY_LIMIT: {
    appearsIn: "dead_letter",
    kind: "transient",
    cause: "A retry was over `retry_on_failure.rate_limit`, and its `on_excess` is `dead_letter`.",
    action: "Replay it once the backend is well. With `on_excess: delay`, the default, retries wait for their turn.",
  },
  SLUICE_SET_ASIDE: {
    appearsIn: "dead_letter",
    kind: "permanent",
    cause: "The entry was waiting in a queue whose files were damaged, and was imported from what had been set aside.",
    action: "Find out whether the backend has it, then [replay or delete](../operate/dead-letters.md) it.",
  },
  SLUICE_SHUTTING_DOWN: {
    appearsIn: "refusal",
    kind: "transient",
    cause: "The agent or the component is stopping, or has been stopped, and accepts nothing more.",
    action: "Nothing: senders retry. A program should flush before it closes Sluice.",
  },
  SLUICE_SPLIT_OVERFLOW: {
    appearsIn: "refusal",
    kind: "permanent",
    cause:
      "A request cannot be cut into slices, or into pieces of the given maximum, without becoming many times its size.",
    action:
      "Have the sender send fewer records with less around them, or raise `send_batch_max_size` (`batch.max_size`).",
  },
  SLUICE_START: {
    appearsIn: "thrown",
    cause: "A component cannot start as configured. `path` is the key of its config that is to blame, if one is.",
    action: "Fix that key. In a plugin, throw a `StartError` to have the place shown.",
  },
  SLUICE_THROTTLED: {
    appearsIn: "refusal",
    kind: "throttled",
    cause: "A component or a backend asked the sender to wait, and gave no code of its own.",
    action: "Nothing, if it is temporary. Otherwise send less, or ask the operators of the backend for a higher limit.",
  },
  SLUICE_TIMEOUT: {
    appearsIn: "refusal",
    kind: "transient",
    cause: "An exporter did not finish within its `timeout`, or the function of a processor within its time.",
    action: "Check the backend or the function. If the work needs that long, raise `timeout`.",
  },
  SLUICE_TOO_LARGE: {
    appearsIn: "refusal",
    kind: "permanent",
    cause: "The backend refused a request as too large. The queue divides it and sends the halves.",
    action: "If single records become dead letters with this code, raise the backend's limit or shorten the records.",
  },
  SLUICE_TOO_MANY_VALUES: {
    appearsIn: "refusal",
    kind: "permanent",
    cause:
      "A record or resource has more attributes, events, buckets and other values than `service.intake.max_record_values` allows.",
    action:
      "Send smaller records, or raise the limit: records with very many values block the agent while it processes them.",
  },
  SLUICE_TRACES_WAITING: {
    appearsIn: "refusal",
    kind: "throttled",
    cause: "The number of traces that wait for the decision of `tail_sampling` has reached `num_traces`.",
    action: "Raise `num_traces`, or decide sooner with a shorter `decision_wait`.",
  },
  SLUICE_TRANSIENT: {
    appearsIn: "refusal",
    kind: "transient",
    cause: "Something failed that may work later, and had no code of its own: a connection, a backend, a thrown error.",
    action:
      "Nothing, if it is temporary. Otherwise read the message; with an entry, its `class` and `status` say more.",
  },
  SLUICE_TYPE_TAKEN: {
    appearsIn: "thrown",
    cause:
      "A component has the same type as another component of its kind, which is built in or comes from another plugin.",
    action: "Give it another type.",
  },
  SLUICE_UNKNOWN_VERSION: {
    appearsIn: "dead_letter",
    kind: "permanent",
    cause: "An event has a version, or a form, that the versioning of its pipeline does not know.",
    action:
      "Teach [versioning](../components/processors/versioning.md) that version, then replay: the steps are applied on replay too.",
  },
  SLUICE_UNREADABLE_ANSWER: {
    appearsIn: "refusal",
    kind: "transient",
    cause:
      "A backend answered with success, but its answer was cut off, longer than 4 MiB, a web page or no OTLP answer: it is unknown whether the backend accepted the records.",
    action:
      "Nothing, if it is temporary: the data is sent again. Otherwise check the backend, and proxies that cut off answers or require a login. Also check the address: it may be that of a user interface.",
  },
  SLUICE_WORKER_GONE: {
    appearsIn: "refusal",
    kind: "transient",
    cause:
      "The data belongs to another worker of the agent, which ended, restarts, or does not have the same config yet during a reload.",
    action:
      "Nothing: senders retry. If it persists, find out in the log why the worker exits. [Workers](../operate/workers.md) explains which data is moved.",
  },

  SLUICE_UPCAST_FAILED: {
    appearsIn: "dead_letter",
    kind: "permanent",
    cause: "The step that updates an event to the next version threw an error. The event is kept unchanged.",
    action: "Fix the step that the message names, then replay: the steps are applied on replay too.",
  },
} as const satisfies Readonly<Record<string, ErrorFacts>>;

/** A code of Sluice. Plugins have their own codes, so a `Refusal` accepts any text. */
export type ErrorCode = keyof typeof ERRORS;

/** The codes by name, so that a misspelt one does not compile. */
export const ERROR_CODES = Object.fromEntries(Object.keys(ERRORS).map((code) => [code, code])) as {
  readonly [Code in ErrorCode]: Code;
};

/** Whether an error has this code. Also works for errors of another copy of the package. */
export function hasErrorCode(error: unknown, code: ErrorCode): boolean {
  return error instanceof Error && (error as { code?: unknown }).code === code;
}
