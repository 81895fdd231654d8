/**
 * The most useful description of a connection error: the first of several errors, and TLS errors without OpenSSL's
 * source locations.
 */
export function describeConnectionError(error: unknown): {
  readonly code: string | undefined;
  readonly message: string;
} {
  const { errors } = (error ?? {}) as { readonly errors?: readonly unknown[] };
  if (errors?.length) return describeConnectionError(errors[0]);
  if (!(error instanceof Error)) return { code: undefined, message: String(error) };
  const code = (error as { code?: unknown }).code;
  if (code === "ERR_HTTP2_STREAM_CANCEL" && error.cause instanceof Error) return describeConnectionError(error.cause);
  const message = plainTlsMessage(error.message) || String(code ?? error.name);
  return { code: typeof code === "string" ? code : undefined, message };
}

/** The same as a sentence. */
export function connectionErrorMessage(error: unknown): string {
  return describeConnectionError(error).message;
}

/**
 * `write EPROTO 80:error:0A00010B:SSL routines:ssl3_get_record:wrong version number:../record.c:354:` becomes its
 * reason.
 */
export function plainTlsMessage(message: string): string {
  const [, reason] = /:error:[0-9A-F]+:[^:]*:[^:]*:([^:]+):/.exec(message) ?? [];
  if (reason === undefined) return message;
  return `TLS failed: ${reason}${NOT_TLS.test(reason) ? " (does the server use TLS on this port?)" : ""}`;
}

/** OpenSSL's errors for a peer that does not speak TLS. */
const NOT_TLS = /wrong version number|packet length too long|record layer failure/;

/** No response arrived. `stale` means that the connection had worked before, and ended before the response began. */
export class NoAnswerError extends Error {
  override readonly name = "NoAnswer";
  readonly stale: boolean;

  constructor(cause: unknown, stale: boolean) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    this.stale = stale;
  }
}
