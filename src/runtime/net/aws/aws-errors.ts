/** Kinds of errors that all services of AWS share. */
type AwsErrorKind = "throttled" | "unavailable" | "unauthorized";

const THROTTLING =
  /Throttl|^(TooManyRequestsException|RequestLimitExceeded|SlowDown|BandwidthLimitExceeded|OverLimit)$/i;
const UNAVAILABLE = /^(ServiceUnavailable|InternalError|InternalFailure|InternalServerError|RequestTimeout)/i;
const UNAUTHORIZED =
  /^(AccessDenied|AuthFailure|UnrecognizedClient|InvalidClientTokenId|InvalidAccessKeyId|SignatureDoesNotMatch|InvalidSignature|IncompleteSignature|MissingAuthenticationToken|ExpiredToken|RequestExpired|InvalidSecurity|NotAuthorized|OptInRequired|KmsAccessDenied)/;
/** The keys may be old, and others may be there by now. */
const OLD_KEYS = /^(ExpiredToken|UnrecognizedClient|InvalidClientTokenId|InvalidAccessKeyId)/;

/** Returns undefined for errors that only the service itself can explain. */
export function kindOfAwsError(code: string, httpStatus: number): AwsErrorKind | undefined {
  if (THROTTLING.test(code) || httpStatus === 429) return "throttled";
  if (UNAVAILABLE.test(code) || httpStatus >= 500) return "unavailable";
  return UNAUTHORIZED.test(code) || httpStatus === 401 || httpStatus === 403 ? "unauthorized" : undefined;
}

/** Whether newly fetched keys may succeed. */
export function isErrorOfOldKeys({ code }: { readonly code: string }): boolean {
  return OLD_KEYS.test(code);
}
