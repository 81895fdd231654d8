import { ERROR_CODES, Refusal } from "#contract/errors";
import { kindOfAwsError } from "../aws-errors.js";
import { xmlElement } from "../xml-elements.js";

/** An error answer of S3. */
interface S3Error {
  /** Such as `NoSuchBucket`; `HTTP 503` if the answer names none. */
  readonly code: string;
  readonly message: string;
  readonly httpStatus: number;
  readonly retryAfterMs?: number | undefined;
}

/** The status of refusals for an object that does not exist. */
const NO_SUCH_KEY = "NoSuchKey";

/** Damage on the way, or a race with another request: the same request may succeed. */
const PASSING =
  /^(BadDigest|XAmzContentSHA256Mismatch|OperationAborted|ConditionalRequestConflict|NoSuchUpload|Invalid(Part|PartOrder)|IncompleteBody)$/;
/** The config or the bucket must change; no object is at fault. */
const WRONG_PLACE =
  /^(NoSuchBucket|PermanentRedirect|TemporaryRedirect|AuthorizationHeaderMalformed|IllegalLocationConstraintException|InvalidBucketName|AllAccessDisabled|AccountProblem|InvalidObjectState|InvalidStorageClass|AccessControlListNotSupported|QuotaExceeded|XMinioStorageFull|MethodNotAllowed)$/;
const TOO_LARGE = /^(EntityTooLarge|MaxMessageLengthExceeded)$/;

/** Reads the error in an answer whose status is not a success, or in one that hides an error behind 200. */
export function s3ErrorIn(httpStatus: number, text: string, retryAfterMs?: number): S3Error {
  const code = xmlElement(text, "Code")?.slice(0, 100) || `HTTP ${httpStatus}`;
  const message = xmlElement(text, "Message")?.slice(0, 300) ?? "";
  return { code, message, httpStatus, retryAfterMs };
}

/** Classifies an error of S3. Data is refused permanently only if it is at fault; other permanent errors hold the queue. */
export function refusalOfS3(error: S3Error, peer: string): Refusal {
  const { code, httpStatus, retryAfterMs } = error;
  const message = `${peer}: ${code}${error.message === "" ? "" : `: ${error.message}`}`;
  const kind = kindOfAwsError(code, httpStatus);
  const waiting = retryAfterMs === undefined ? {} : { retryAfterMs };
  if (kind === "throttled" || (kind === "unavailable" && retryAfterMs !== undefined))
    return new Refusal("throttled", message, { status: code, blame: "backend", ...waiting });
  if (kind === "unavailable" || PASSING.test(code) || httpStatus === 408 || httpStatus === 409)
    return new Refusal("transient", message, { status: code, blame: "backend" });
  if (kind === "unauthorized")
    return new Refusal("permanent", message, { status: "HTTP 403", category: "integration" });
  if (code === NO_SUCH_KEY) return new Refusal("permanent", message, { status: NO_SUCH_KEY, category: "integration" });
  if (WRONG_PLACE.test(code) || httpStatus === 404 || (httpStatus >= 300 && httpStatus < 400))
    return new Refusal("permanent", message, { status: "HTTP 404", category: "integration" });
  if (TOO_LARGE.test(code) || httpStatus === 413)
    return new Refusal("permanent", message, { status: code, code: ERROR_CODES.SLUICE_TOO_LARGE, category: "schema" });
  return new Refusal("permanent", message, { status: code, category: "schema" });
}
