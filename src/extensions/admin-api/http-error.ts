import type { AdminError } from "../../runtime/kit.js";

/** An answer that says what is wrong with a request. */
export class HttpError extends Error {
  override readonly name = "HttpError";
  readonly status: number;
  readonly code: string;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, code: string, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message);
    this.status = status;
    this.code = code;
    this.headers = headers;
  }
}

const STATUS_BY_CODE: Readonly<Record<AdminError["code"], number>> = {
  bad_request: 400,
  not_found: 404,
  conflict: 409,
  unavailable: 503,
};

/** Undefined for an error that the request did not cause. */
export function asHttpError(error: unknown): HttpError | undefined {
  if (error instanceof HttpError) return error;
  const { name, code, message } = error as AdminError;
  return name === "AdminError" && code in STATUS_BY_CODE
    ? new HttpError(STATUS_BY_CODE[code], code, message)
    : undefined;
}

export function badRequest(message: string): HttpError {
  return new HttpError(400, "bad_request", message);
}
