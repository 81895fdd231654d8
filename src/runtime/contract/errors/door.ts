/** Refusals, errors at start, and the table of error codes. */

export { ERROR_CODES, type ErrorCode, hasErrorCode, type RefusalKind } from "./error-codes.js";
export { errorMessage } from "./error-message.js";
export {
  BUSY_RETRY_AFTER_MS,
  chooseRefusal,
  copyRefusal,
  errorClass,
  isGenericCode,
  isRefusal,
  Refusal,
  type RefusalCategory,
  shutdownRefusal,
  toRefusal,
  type Undelivered,
} from "./refusal.js";
export { isStartError, StartError } from "./start-error.js";
