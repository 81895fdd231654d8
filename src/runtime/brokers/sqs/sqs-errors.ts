import { ERROR_CODES, Refusal } from "#contract/errors";
import { kindOfAwsError } from "#net/aws";

/** The error that SQS reports for a request, or about one entry of a batch, that it did not carry out. */
export interface SqsError {
  /** Without the prefix of its namespace, such as `QueueDoesNotExist`. */
  readonly code: string;
  readonly message: string;
  /** Whether the sender has to change something. */
  readonly isSenderFault: boolean;
  readonly httpStatus?: number;
}

/** Queues and keys for encryption can be created and repaired; the message is not at fault. */
// Linear: what repeats starts once.
const MISSING = /NonExistentQueue$|^(QueueDoesNotExist|QueueDeletedRecently|Kms\w+)$/;
const TOO_LARGE = /^BatchRequestTooLong|^MessageTooLong|must be shorter than|message (is )?too (long|large)/i;

/** Classifies an error of SQS. Messages are refused permanently only if they are at fault. */
export function refusalOfSqs(error: SqsError, peer: string): Refusal {
  const { code, isSenderFault, httpStatus = 0 } = error;
  const message = `${peer}: ${code}: ${error.message}`;
  const status = code;
  const kind = kindOfAwsError(code, httpStatus);
  if (kind === "throttled") return new Refusal("throttled", message, { status, blame: "backend" });
  if (kind === "unavailable") return new Refusal("transient", message, { status, blame: "backend" });
  if (kind === "unauthorized")
    return new Refusal("permanent", message, { status: "HTTP 403", category: "integration" });
  if (MISSING.test(code)) return new Refusal("transient", message, { status, blame: "backend" });
  if (TOO_LARGE.test(`${code}: ${error.message}`))
    return new Refusal("permanent", message, { status, code: ERROR_CODES.SLUICE_TOO_LARGE, category: "schema" });
  return isSenderFault
    ? new Refusal("permanent", message, { status, category: "schema" })
    : new Refusal("transient", message, { status, blame: "entry" });
}
