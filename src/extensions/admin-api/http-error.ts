import type { AdminError } from "#contract/operations";

/** The errors of the API by code. `docs/reference/errors.md` is also generated from this table. */
export const API_ERRORS = {
  bad_request: {
    status: 400,
    cause: "The request is not valid: an unknown filter, a limit out of range, a damaged cursor.",
    action: "Correct the part that the message names.",
  },
  conflict: {
    status: 409,
    cause: "The request conflicts with what is under way, such as another replay while several run.",
    action: "Wait until it ends, or cancel it.",
  },
  forbidden: {
    status: 403,
    cause:
      "The caller does not have the required role, the host name of the request is not allowed, or the request came from a page of another site.",
    action:
      "Use a token with the role. For a host name, use an address of the machine, or add the name to `allowed_hosts` of the extension `admin`.",
  },
  internal: {
    status: 500,
    cause: "Something failed that the request did not cause.",
    action: "The log of the agent says why.",
  },
  method_not_allowed: {
    status: 405,
    cause: "The path exists, but not with this method.",
    action: "Use a method that the header `allow` lists.",
  },
  not_found: {
    status: 404,
    cause: "There is no such path, exporter, dead letter or replay; it may have been delivered, deleted or forgotten.",
    action: "List what exists and use those names; ids of exporters are encoded in paths, as in `otlp_http%2Fbackend`.",
  },
  too_large: {
    status: 413,
    cause: "The body, or a line of it, is longer than the API accepts.",
    action: "Import in several requests.",
  },
  unauthorized: {
    status: 401,
    cause: "The request has no token, or an unknown one.",
    action:
      "Send `Authorization: Bearer` with a token of `admin.tokens`, or with the token in the token file, which only its owner can read. The command line uses `SLUICE_ADMIN_TOKEN`, or reads the file.",
  },
  unavailable: {
    status: 503,
    cause:
      "There are no queues: the agent is starting or runs without the extension `reliability`, or the store failed.",
    action: "Try again in a moment. If the error persists, the message and the log say what is missing.",
  },
  unsupported_media_type: {
    status: 415,
    cause: "The content type of the body is not accepted here.",
    action: "Send the content type that the message names.",
  },
} as const satisfies Readonly<Record<string, { status: number; cause: string; action: string }>> &
  Readonly<Record<AdminError["code"], unknown>>;

type ApiErrorCode = keyof typeof API_ERRORS;

/** An error answer that describes the problem of a request. */
export class HttpError extends Error {
  override readonly name = "HttpError";
  readonly code: ApiErrorCode;
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: ApiErrorCode, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message);
    this.code = code;
    this.headers = headers;
  }

  get status(): number {
    return API_ERRORS[this.code].status;
  }
}

/** Returns undefined for an error that the request did not cause. */
export function asHttpError(error: unknown): HttpError | undefined {
  if (error instanceof HttpError) return error;
  const { name, code, message } = error as AdminError;
  return name === "AdminError" && code in API_ERRORS ? new HttpError(code, message) : undefined;
}

export function badRequest(message: string): HttpError {
  return new HttpError("bad_request", message);
}
