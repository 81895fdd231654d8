import { ERROR_CODES, Refusal } from "#contract/errors";

/** The error that SQS reports for a request, or about one entry of a batch, that it did not carry out. */
export interface SqsError {
  /** Without the prefix of its namespace, such as `QueueDoesNotExist`. */
  readonly code: string;
  readonly message: string;
  /** Whether the sender has to change something. */
  readonly isSenderFault: boolean;
  readonly httpStatus?: number;
}

const THROTTLING =
  /Throttl|^(TooManyRequestsException|RequestLimitExceeded|SlowDown|BandwidthLimitExceeded|OverLimit)$/i;
const UNAVAILABLE = /^(ServiceUnavailable|InternalError|InternalFailure|InternalServerError|RequestTimeout)/i;
const UNAUTHORIZED =
  /^(AccessDenied|AuthFailure|UnrecognizedClient|InvalidClientTokenId|InvalidAccessKeyId|SignatureDoesNotMatch|InvalidSignature|IncompleteSignature|MissingAuthenticationToken|ExpiredToken|RequestExpired|InvalidSecurity|NotAuthorized|OptInRequired|KmsAccessDenied)/;
/** The keys may be old, and others may be there by now. */
const OLD_KEYS = /^(ExpiredToken|UnrecognizedClient|InvalidClientTokenId|InvalidAccessKeyId)/;
/** Queues and keys for encryption can be created and repaired; the message is not at fault. */
const MISSING = /NonExistentQueue$|^(QueueDoesNotExist|QueueDeletedRecently|Kms\w+)$/;
const TOO_LARGE = /^BatchRequestTooLong|^MessageTooLong|must be shorter than|message (is )?too (long|large)/i;

/** Classifies an error of SQS. Messages are refused permanently only if they are at fault. */
export function refusalOfSqs(error: SqsError, peer: string): Refusal {
  const { code, isSenderFault, httpStatus = 0 } = error;
  const message = `${peer}: ${code}: ${error.message}`;
  const status = code;
  if (THROTTLING.test(code) || httpStatus === 429)
    return new Refusal("throttled", message, { status, blame: "backend" });
  if (UNAVAILABLE.test(code) || httpStatus >= 500)
    return new Refusal("transient", message, { status, blame: "backend" });
  if (UNAUTHORIZED.test(code) || httpStatus === 401 || httpStatus === 403)
    return new Refusal("permanent", message, { status: "HTTP 403", category: "integration" });
  if (MISSING.test(code)) return new Refusal("transient", message, { status, blame: "backend" });
  if (TOO_LARGE.test(`${code}: ${error.message}`))
    return new Refusal("permanent", message, { status, code: ERROR_CODES.SLUICE_TOO_LARGE, category: "schema" });
  return isSenderFault
    ? new Refusal("permanent", message, { status, category: "schema" })
    : new Refusal("transient", message, { status, blame: "entry" });
}

export function isErrorOfOldKeys({ code }: SqsError): boolean {
  return OLD_KEYS.test(code);
}
