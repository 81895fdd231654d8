import { MALFORMED_CODE } from "#otlp/signals";
import type { RefusalKind } from "./refusal.js";

/** The facts about an error code, for the person who meets it. */
export interface ErrorFacts {
  /** Where the code appears: in the answer to a sender, on a dead letter, or in a thrown error. */
  readonly met: "refusal" | "dead_letter" | "thrown";
  /** Whether the sender may retry; absent if that varies, or if nothing was sent. */
  readonly kind?: RefusalKind;
  readonly cause: string;
  readonly action: string;
}

/**
 * All codes that Sluice assigns to errors, refusals and dead letters. They are stable: programs and configs
 * (`retry_on_failure.retry_on`, `permanent_on`) use them. `node scripts/error-reference.js` generates `docs/errors.md`
 * from this table.
 */
export const ERRORS = {
  SLUICE_ABORTED: {
    met: "refusal",
    kind: "transient",
    cause: "A send was given up before the answer came: the agent is stopping, or whoever waited for it has left.",
    action:
      "Nothing, it is sent again. During shutdown, `service.shutdown_timeout` says how long sends may take to end.",
  },
  SLUICE_AGENT_START: {
    met: "thrown",
    cause:
      "The agent could not start as configured; nothing is left running. `problems` has each reason with its place.",
    action: "Mend what each problem names, such as a port that is taken or a certificate that cannot be read.",
  },
  SLUICE_BAD_RECORD: {
    met: "refusal",
    kind: "permanent",
    cause:
      "A record that the program handed in cannot be written as OTLP, such as one that is no object or whose getter throws.",
    action: "Mend the call that the message describes. The other records of the same call are not affected.",
  },
  SLUICE_BREAKER_OPEN: {
    met: "dead_letter",
    kind: "transient",
    cause: "The circuit breaker of the exporter was open, and `circuit_breaker.on_open` is `dead_letter`.",
    action:
      "Replay once the backend answers again. With `on_open: hold`, the default, entries wait in the queue instead.",
  },
  SLUICE_BROKER_DEAD_LETTER: {
    met: "dead_letter",
    kind: "permanent",
    cause: "The message was in a dead-letter queue of the broker, which a receiver with `as_dead_letters` has read.",
    action: "Mend what the message says it failed for, and replay it: to its queue again, or to another exporter.",
  },
  SLUICE_COMPONENT_FAILED: {
    met: "refusal",
    kind: "transient",
    cause:
      "The stream of a processor or connector ended in an error; what it held was refused, and it was started anew.",
    action:
      "Look for the component in the log: the message and the cause are there. Senders keep the data and try again.",
  },
  SLUICE_CONFIG: {
    met: "thrown",
    cause:
      "The config that a program gave to Sluice cannot be run. `problems` has all that is wrong, each with its place.",
    action: "Mend each problem; their codes are explained under [problems of a config](#problems-of-a-config).",
  },
  SLUICE_CONTRACT: {
    met: "thrown",
    cause: "A component was built for another version of the plugin contract than this Sluice has.",
    action: "Update Sluice when the plugin is newer; update or rebuild the plugin when it is older.",
  },
  SLUICE_DEAD_LETTERED: {
    met: "refusal",
    kind: "permanent",
    cause: "With `sending_queue.wait_for_result`: the data could not be delivered, and is kept as a dead letter.",
    action:
      "Do not send it again. `sluice dlq show` explains the dead letter that the message names; replay it once mended.",
  },
  SLUICE_DISCARDED: {
    met: "refusal",
    kind: "permanent",
    cause:
      "The data could not be delivered and was not kept: `dead_letter.filter` leaves it out, or a retry was over `retry_on_failure.rate_limit` with `on_excess: drop`.",
    action:
      "Nothing, if that is meant. Else let `dead_letter.filter` save it, or set `on_excess` to `delay` or `dead_letter`.",
  },
  SLUICE_DELIVERY_LOST: {
    met: "refusal",
    kind: "transient",
    cause:
      "The operator of a plugin let go of a delivery: it neither handed it on nor settled it, as a plain `filter(...)` does.",
    action:
      "Mend the component that the log names: `delivery.drop()` says that data is not wanted, as the [recipes](rxjs-recipes.md) show.",
  },
  SLUICE_EXPIRED: {
    met: "dead_letter",
    kind: "transient",
    cause: "The entry waited longer than `sending_queue.max_age`, and had not been tried yet.",
    action: "Replay it if it is still worth sending. Raise `max_age`, or find out why the queue does not drain.",
  },
  SLUICE_FILE_WRITE: {
    met: "refusal",
    kind: "transient",
    cause: "The file exporter cannot write; the message has the file and the reason of the operating system.",
    action: "Free space on the disk, or give the agent the right to write there.",
  },
  [MALFORMED_CODE]: {
    met: "refusal",
    kind: "permanent",
    cause: "What came is not the OTLP message that it claims to be. The message says at which byte reading stopped.",
    action: "Look at the sender: an old or foreign encoder, a wrong content type, a proxy that changes bodies.",
  },
  SLUICE_MEMORY: {
    met: "refusal",
    kind: "throttled",
    cause: "The process uses more memory than the `memory_limiter` processor allows.",
    action: "Nothing, if it is short: senders come back. Else raise the limit, give the process more, or send less.",
  },
  SLUICE_MESSAGE_TOO_LARGE: {
    met: "dead_letter",
    kind: "permanent",
    cause: "A single record is larger than the broker's exporter may send in a message.",
    action:
      "Raise `max_message_size` of the exporter, as far as the broker allows, and replay; or shorten such records.",
  },
  SLUICE_MESSAGE_UNREADABLE: {
    met: "dead_letter",
    kind: "permanent",
    cause:
      "A message of a broker is not what the receiver's `encoding` says, or is larger than its `max_message_size`. The dead letter has its bytes and headers as they came.",
    action:
      "Look at the message with `sluice dlq show`, and mend its sender, or the receiver's `encoding`, or raise `max_message_size`.",
  },
  SLUICE_NO_BATCH: {
    met: "refusal",
    cause:
      "A component, or the program that embeds Sluice, handed on something that is no batch, or one of another signal. A receiver or a program is told not to try again; behind a processor the sender may.",
    action:
      "Mend the component that the message names: make batches with `Batch.admit` or the helpers of `sluice/plugin`.",
  },
  SLUICE_NO_ENDPOINTS: {
    met: "refusal",
    kind: "transient",
    cause: "The resolver of `load_balancing` has found no endpoint: what comes waits in the queue.",
    action:
      "Look at the log for why: a name that does not resolve, a service without ready pods, or an API server that does not let the agent read `endpointslices`.",
  },
  SLUICE_NO_PIPELINE: {
    met: "refusal",
    kind: "permanent",
    cause: "The program emits a signal that no pipeline reads from the receiver `app`.",
    action: "Write `receivers: [app]` into a pipeline of that signal, or stop emitting it.",
  },
  SLUICE_NO_RESULT: {
    met: "refusal",
    kind: "transient",
    cause: "The function of a processor returned neither a batch nor `null`: most often a `return` is missing.",
    action: "Return the batch to pass it on, several to split it, a dead letter to set it aside, `null` to drop it.",
  },
  SLUICE_NO_ROUTE: {
    met: "refusal",
    kind: "transient",
    cause: "A connector chose a pipeline that it does not feed, or a processor chose one at all.",
    action:
      "Mend the component that the log names: a route lists pipelines that have the connector among their receivers.",
  },
  SLUICE_NOT_STARTED: {
    met: "refusal",
    kind: "transient",
    cause: "A program emitted telemetry before its Sluice was started.",
    action: "`await sluice.start()` before the first record.",
  },
  SLUICE_OTTL: {
    met: "thrown",
    cause: "An OTTL condition or statement failed on a record: a value of the wrong type, text that does not parse.",
    action:
      "Guard it with a condition, such as `IsString(body)`; `error_mode` says what happens to the record meanwhile.",
  },
  SLUICE_OTTL_SYNTAX: {
    met: "thrown",
    cause:
      "An OTTL condition or statement cannot be compiled. `offset` and `length` say which part of its text is meant.",
    action: "Mend that part; the message says what is expected, and [the functions](ottl-functions.md) are listed.",
  },
  SLUICE_OVERLOADED: {
    met: "refusal",
    kind: "throttled",
    cause: "As many bytes as `service.intake.max_bytes` allows have been taken and not been answered yet.",
    action: "Nothing, if it is short: senders come back. Else look for the exporter that is slow, or raise the limit.",
  },
  SLUICE_PARTIAL_SUCCESS: {
    met: "dead_letter",
    kind: "permanent",
    cause: "The backend took the request and rejected some of its records for good, without saying which.",
    action:
      "Read its message, mend what it complains of, and replay it with `--approve`: that sends all records of the request again.",
  },
  SLUICE_PARTLY_REJECTED: {
    met: "refusal",
    kind: "permanent",
    cause: "A backend took what the program emitted, but not all of its records.",
    action: "Read the backend's message in it and mend the records. Do not send all again: the others were taken.",
  },
  SLUICE_PERMANENT: {
    met: "refusal",
    kind: "permanent",
    cause: "A component or a backend refused the data for good and gave no code of its own.",
    action: "Read the message; with a dead letter, its `status` has the backend's own word for it.",
  },
  SLUICE_PII_FAILED: {
    met: "refusal",
    kind: "permanent",
    cause: "The `pii` processor could not treat a batch, and did not let it pass untreated.",
    action: "The log names the kind of error, without the data. Please report it; a smaller request may pass.",
  },
  SLUICE_PRINT: {
    met: "refusal",
    kind: "transient",
    cause: "The `debug` exporter cannot write to its output, such as a pipe whose reader has left.",
    action: "Restart the reader, or take the exporter out of the pipeline.",
  },
  SLUICE_QUEUE_FULL: {
    met: "refusal",
    kind: "throttled",
    cause:
      "The sending queue of an exporter has as much as `queue_size` allows. With `on_full: drop_oldest` or `drop_newest`, what had to make room is a dead letter with this code.",
    action:
      "Look at why the exporter does not keep up (`sluice dlq stats`, its breaker, its errors), or raise `queue_size`.",
  },
  SLUICE_QUEUE_WRITE: {
    met: "refusal",
    kind: "transient",
    cause: "The sending queue cannot be written to its disk; the message says so when that is full.",
    action:
      "Free space, or mend the disk below the directory of the extension `reliability`. Nothing was acknowledged.",
  },
  SLUICE_RATE_LIMITED: {
    met: "refusal",
    cause:
      "More records came than the `rate_limit` processor allows. With `on_excess: dead_letter` they are dead letters; a refused request may come again, unless it is so large that it never fits.",
    action: "Raise the limit or the burst, choose a finer key, or have the sender send smaller requests.",
  },
  SLUICE_REDACTION_FAILED: {
    met: "refusal",
    kind: "permanent",
    cause: "The `redaction` processor could not treat a batch, and did not let it pass untreated.",
    action: "The log names the kind of error, without the data. Please report it; a smaller request may pass.",
  },
  SLUICE_REGROUP_OVERFLOW: {
    met: "thrown",
    cause: "`groupbyattrs` would have multiplied a batch: too much stands around its records to repeat for each group.",
    action: "The batch is passed on without grouping, and the log says so. Group by keys that have fewer values.",
  },
  SLUICE_REJECTED: {
    met: "dead_letter",
    kind: "permanent",
    cause: "A processor took the records out of the pipeline and gave no code of its own.",
    action: "Read the message; replay once what it complains of is mended.",
  },
  SLUICE_REPLAY_NO_PIPELINE: {
    met: "dead_letter",
    kind: "permanent",
    cause:
      "A dead letter was to be sent again that came from a pipeline which the config does not have: it was renamed, or the dead letter comes from elsewhere. Which steps it needs, such as those of `pii`, is not known; nothing was sent.",
    action:
      "Replay it with `--pipeline NAME`, and it is treated as what comes from that one; with `--as-is` it goes as it is.",
  },
  SLUICE_REPLAY_REFUSED: {
    met: "dead_letter",
    kind: "permanent",
    cause:
      "The steps that a pipeline has for replayed data refused a dead letter, or left records out. Nothing was sent; the stored records are unchanged.",
    action: "Mend the processor that the message names, or its config, and replay again.",
  },
  SLUICE_RETRY_LIMIT: {
    met: "dead_letter",
    kind: "transient",
    cause: "A retry was over `retry_on_failure.rate_limit`, and its `on_excess` is `dead_letter`.",
    action: "Replay it once the backend is well. With `on_excess: delay`, the default, retries wait for their turn.",
  },
  SLUICE_SET_ASIDE: {
    met: "dead_letter",
    kind: "permanent",
    cause: "The entry was waiting in a queue whose files were damaged, and was imported from what had been set aside.",
    action: "Find out whether the backend has it, then [replay or delete](dead-letters.md) it.",
  },
  SLUICE_SHUTTING_DOWN: {
    met: "refusal",
    kind: "transient",
    cause: "The agent or the component is stopping, or has been stopped, and takes nothing more.",
    action: "Nothing: senders try again. A program should flush before it closes Sluice.",
  },
  SLUICE_SPLIT_OVERFLOW: {
    met: "refusal",
    kind: "permanent",
    cause: "A request cannot be cut into pieces of the given maximum without becoming many times its size.",
    action:
      "Raise `send_batch_max_size` (`batch.max_size`), or have the sender send fewer records with less around them.",
  },
  SLUICE_START: {
    met: "thrown",
    cause: "A component cannot start as configured. `path` is the key of its config that is to blame, if one is.",
    action: "Mend that key. In a plugin, throw a `StartError` to have the place shown.",
  },
  SLUICE_THROTTLED: {
    met: "refusal",
    kind: "throttled",
    cause: "A component or a backend asked to wait, and gave no code of its own.",
    action: "Nothing, if it passes. Else send less, or ask who runs the backend for a higher limit.",
  },
  SLUICE_TIMEOUT: {
    met: "refusal",
    kind: "transient",
    cause: "An exporter did not finish within its `timeout`, or the function of a processor within its time.",
    action: "Look at the backend or the function; raise `timeout` where the work takes that long.",
  },
  SLUICE_TOO_LARGE: {
    met: "refusal",
    kind: "permanent",
    cause: "The backend refused a request as too large. The queue cuts it in two by itself and sends the halves.",
    action: "When single records become dead letters with this code, raise the backend's limit or shorten the records.",
  },
  SLUICE_TRACES_WAITING: {
    met: "refusal",
    kind: "throttled",
    cause: "As many traces as `num_traces` allows wait for the decision of `tail_sampling`.",
    action: "Raise `num_traces`, or decide sooner with a shorter `decision_wait`.",
  },
  SLUICE_TRANSIENT: {
    met: "refusal",
    kind: "transient",
    cause: "Something failed that may work later, and had no code of its own: a connection, a backend, a thrown error.",
    action: "Nothing, if it passes. Else read the message; with an entry, its `class` and `status` say more.",
  },
  SLUICE_TYPE_TAKEN: {
    met: "thrown",
    cause: "A component has a type that another of its kind has already: a built-in, or one of another plugin.",
    action: "Give it another type.",
  },
  SLUICE_UNKNOWN_VERSION: {
    met: "dead_letter",
    kind: "permanent",
    cause: "An event has a version, or a form, that the versioning of its pipeline does not know.",
    action: "Teach [versioning](versioning.md) that version, then replay: the steps are applied on replay too.",
  },
  SLUICE_UNREADABLE_ANSWER: {
    met: "refusal",
    kind: "transient",
    cause:
      "A backend answered with success, but its answer was cut off, longer than 4 MiB, a web page or no OTLP answer: whether it took the records is not known.",
    action:
      "Nothing, if it passes: the data is sent again. Else look at the backend, at the proxy that cuts its answers or wants a login, or at the address: it may be that of a user interface.",
  },
  SLUICE_UPCAST_FAILED: {
    met: "dead_letter",
    kind: "permanent",
    cause: "The step that brings an event from one version to the next threw. The event is kept as it came.",
    action: "Mend the step that the message names, then replay: the steps are applied on replay too.",
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
