import { ERROR_CODES } from "./errors/error-codes.js";
import type { Refusal, RefusalOptions } from "./errors/refusal.js";

/**
 * Who is to blame for a failed call that may succeed later. If the backend is, the entry loses no attempt, however
 * often the call fails. If the entry is, it loses one attempt, and after `max_retries` it becomes a dead letter.
 */
export type Blame = NonNullable<RefusalOptions["blame"]>;

/**
 * A kind of failure. `timeout`: the entry is to blame if other entries get through meanwhile, otherwise the backend.
 */
interface FailureKind {
  /** The description in docs/operate/reliability.md. */
  readonly failure: string;
  readonly blame: Blame | "timeout";
  /**
   * Set if the backend is to blame, but what the entry contains may cause the failure too: a record can make a backend
   * crash or hang, with or without a proxy in front of it. Such an entry ends as poison if others get through. Without
   * it, the failure has nothing to do with the entry, however often it happens.
   */
  readonly mayBePoison?: true;
  /** Statuses, codes and names of errors that identify it; none if only the exporter can tell. */
  readonly names: readonly (string | RegExp)[];
  /**
   * Names that identify it only as the status of a refusal, or as the code of an error that PostgreSQL reported. Handlers
   * and plugins throw errors with such codes and mean something else: an order that was CANCELLED, a user who is BLOCKED.
   */
  readonly statuses?: readonly (string | RegExp)[];
}

/**
 * The table that decides who is to blame. The queue, its metrics and docs/operate/reliability.md follow it. The first name of
 * an error that is in the table decides; if several rows have it, the first row. If no row has a name, the entry is to
 * blame.
 */
export const FAILURE_KINDS: readonly FailureKind[] = [
  {
    failure: "connection refused; host or network unreachable",
    blame: "backend",
    names: "ECONNREFUSED EHOSTUNREACH EHOSTDOWN ENETUNREACH ENETDOWN ENETRESET EADDRNOTAVAIL EADDRINUSE".split(" "),
  },
  {
    failure: "connection reset or closed; the answer is not HTTP",
    blame: "backend",
    mayBePoison: true,
    names: [
      "ECONNRESET",
      "ECONNABORTED",
      "EPIPE",
      "ENOTCONN",
      "ESHUTDOWN",
      "UND_ERR_SOCKET",
      "ERR_SOCKET_CLOSED",
      "ERR_STREAM_PREMATURE_CLOSE",
      /^ERR_HTTP2_/,
      /^HPE_/,
    ],
  },
  {
    failure: "the name of the host cannot be resolved",
    blame: "backend",
    names: ["ENOTFOUND", /^EAI_/, "ESERVFAIL", "ENODATA", ERROR_CODES.SLUICE_NO_ENDPOINTS],
  },
  {
    failure: "TLS fails: the certificate is not trusted or has expired, or the server speaks another protocol",
    blame: "backend",
    names: [
      "EPROTO",
      /^(CERT_|CRL_|DEPTH_ZERO_SELF_SIGNED|SELF_SIGNED_CERT|ERR_TLS_|ERR_SSL_)/,
      /^(HOSTNAME_MISMATCH|INVALID_CA|UNABLE_TO_(GET_ISSUER|GET_CRL|DECRYPT_C|DECODE_ISSUER|VERIFY_LEAF)\w*)$/,
    ],
  },
  {
    failure: "no connection in time",
    blame: "backend",
    names: ["ETIMEDOUT", "ESOCKETTIMEDOUT", "UND_ERR_CONNECT_TIMEOUT", "ERR_SOCKET_CONNECTION_TIMEOUT"],
  },
  {
    failure: "HTTP 408, 502, 503, 504, and 521 to 523, 525, 526, 530 of a proxy that cannot reach the backend",
    blame: "backend",
    mayBePoison: true,
    names: [/^HTTP (408|502|503|504|521|522|523|525|526|530)$/],
  },
  { failure: "HTTP 429, 507", blame: "backend", names: [/^HTTP (429|507)$/] },
  {
    failure: "gRPC `UNAVAILABLE`, `CANCELLED`",
    blame: "backend",
    mayBePoison: true,
    names: [],
    statuses: ["UNAVAILABLE", "CANCELLED"],
  },
  {
    failure: "gRPC `RESOURCE_EXHAUSTED` with RetryInfo",
    blame: "backend",
    names: [],
    statuses: ["RESOURCE_EXHAUSTED"],
  },
  {
    failure:
      "PostgreSQL and ClickHouse: no connection, missing permissions or tables, no space, shutting down, read-only",
    blame: "backend",
    names: [],
    statuses: [
      /^(08|25|28|3D|40|42|53|55|58)[0-9A-Z]{3}$/,
      /^57(?!014)[0-9A-Z]{3}$/,
      /^ClickHouse (16|60|81|164|198|202|203|209|210|225|242|243|252|279|285|286|319|425|497|516|999)$/,
    ],
  },
  {
    failure:
      "`aws_sqs`, `kafka`, `nats`, `rabbitmq`, `redis_stream`: the broker is unavailable, or refuses data temporarily",
    blame: "backend",
    names: [],
    statuses: ["DISCONNECTED", "BLOCKED"],
  },
  {
    failure: "there are no credentials, because the token endpoint or key service fails",
    blame: "backend",
    names: [],
  },
  {
    failure: "the answer reports success, but cannot be read to the end",
    blame: "backend",
    mayBePoison: true,
    names: [ERROR_CODES.SLUICE_UNREADABLE_ANSWER],
  },
  {
    failure: "a file, pipe or disk cannot be written",
    blame: "backend",
    names: [ERROR_CODES.SLUICE_FILE_WRITE, ERROR_CODES.SLUICE_PRINT],
  },
  {
    failure:
      "a full, exceeded, read-only, broken or missing disk (`ENOSPC`, `EDQUOT`, `EROFS`, `EIO`, `ENXIO`, `ENODEV`, `ESTALE`)",
    blame: "backend",
    names: ["ENOSPC", "EDQUOT", "EROFS", "EIO", "ENXIO", "ENODEV", "ESTALE"],
  },
  {
    failure: "the agent has no open files or memory left (`EMFILE`, `ENFILE`, `ENOMEM`, `ENOBUFS`)",
    blame: "backend",
    names: ["EMFILE", "ENFILE", "ENOMEM", "ENOBUFS"],
  },
  {
    failure:
      "no answer within `timeout`; gRPC `DEADLINE_EXCEEDED`; a statement that was cancelled because it took too long",
    blame: "timeout",
    names: [ERROR_CODES.SLUICE_TIMEOUT, "TimeoutError"],
    statuses: ["DEADLINE_EXCEEDED", "57014", "ClickHouse 159", "ClickHouse 160"],
  },
  { failure: "HTTP 500 and every other 5xx that is answered", blame: "entry", names: [/^HTTP 5\d\d$/] },
  {
    failure: "gRPC `ABORTED`, `OUT_OF_RANGE`, `DATA_LOSS`; `INTERNAL` and `UNKNOWN` where `retry_on` names them",
    blame: "entry",
    names: [],
    statuses: ["ABORTED", "OUT_OF_RANGE", "DATA_LOSS", "INTERNAL", "UNKNOWN"],
  },
  { failure: "a handler or an exporter throws; any error that is not in this table", blame: "entry", names: [] },
];

/** Decides who is to blame, for a refusal that is not permanent. The exporter's own statement takes precedence. */
export function blameOf(refusal: Refusal): FailureKind["blame"] {
  if (refusal.blame !== undefined) return refusal.blame;
  for (const name of namesOf(refusal)) {
    const kind = kindNamed(name);
    if (kind !== undefined) return kind.blame;
  }
  // A throttling answer says nothing about the entry.
  return refusal.kind === "throttled" ? "backend" : "entry";
}

/** What is kept of a failed call. */
interface KeptError {
  readonly kind: Refusal["kind"];
  readonly class: string;
  readonly code: string;
  readonly status?: string | undefined;
  readonly blame?: Blame | undefined;
}

/** Whether the entry may have caused the failure, whoever is blamed. */
export function mayBePoison({ kind, blame, status, code, class: name }: KeptError): boolean {
  if (kind !== "transient") return false;
  if (blame !== "backend") return true;
  const names = [...(status === undefined ? [] : [{ name: status, isStatus: true }]), { name: code }, { name }];
  return (
    names.map((each) => kindNamed({ isStatus: false, ...each })).find((each) => each !== undefined)?.mayBePoison ===
    true
  );
}

interface ErrorName {
  readonly name: string;
  /** Whether it is the backend's own word for the failure. */
  readonly isStatus: boolean;
}

function kindNamed({ name, isStatus }: ErrorName): FailureKind | undefined {
  const wanted = /^\d{3}$/.test(name) ? `HTTP ${name}` : name;
  const matches = (own: string | RegExp) => (typeof own === "string" ? own === wanted : own.test(wanted));
  return FAILURE_KINDS.find(({ names, statuses = [] }) => names.some(matches) || (isStatus && statuses.some(matches)));
}

/** How deep the causes of an error are searched. `fetch` has the socket's code one level below its own error. */
const MAX_DEPTH = 5;

function namesOf({ status, code, cause }: Refusal): ErrorName[] {
  const own = status === undefined ? [] : [{ name: status, isStatus: true }];
  return [...own, { name: code, isStatus: false }, ...namesInCause(cause, 0)];
}

function namesInCause(error: unknown, depth: number): ErrorName[] {
  if (!(error instanceof Error) || depth >= MAX_DEPTH) return [];
  const { code, name, cause, severity } = error as Error & { readonly code?: unknown; readonly severity?: unknown };
  const first: unknown = error instanceof AggregateError ? error.errors[0] : undefined;
  // Clients of PostgreSQL give every error of the server its severity.
  const isOfPostgres = typeof severity === "string" && typeof code === "string" && /^[0-9A-Z]{5}$/.test(code);
  const own = typeof code === "string" ? [{ name: code, isStatus: isOfPostgres }] : [];
  return [...own, { name, isStatus: false }, ...namesInCause(first, depth + 1), ...namesInCause(cause, depth + 1)];
}
