import type { IncomingHttpHeaders } from "node:http";
import { DecompressError, hasZstd, ZSTD_MISSING } from "#codecs/compression";
import type { Outcome } from "#contract";
import { BUSY_RETRY_AFTER_MS } from "#contract/errors";
import { type ErrorAnswer, GRPC_STATUS, type OtlpEncoding } from "#net/otlp";
import type { Batch } from "#otlp";
import { isMalformed, type Signal } from "#otlp/signals";
import type { Steps } from "#work";

/**
 * The encoding of a body. Answers use the same encoding; clients of `other`, which only the format can read, get plain
 * text. A format with several of these tells them apart by what is behind the slash.
 */
export type BodyEncoding = OtlpEncoding | OtherEncoding;

export type OtherEncoding = "other" | `other/${string}`;

/** The head of an HTTP request. Names of headers are in lower case. */
export interface ReceivedHead {
  readonly method?: string | undefined;
  readonly url?: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly headersDistinct: NodeJS.Dict<string[]>;
}

/** An answer in the words of the receiver's own protocol. */
export interface FormatAnswer {
  readonly status: number;
  /** Alternating names and values. */
  readonly headers?: readonly string[];
  readonly contentType?: string;
  /** There is none if it is empty. */
  readonly body: string;
}

/** A request that was read. */
export interface RequestBatches {
  /** At most one of each signal. Those of signals without a pipeline are dropped. */
  readonly batches: readonly Batch[];
  /** The answer once all of them are taken. */
  readonly success: FormatAnswer;
}

/** Describes a receiver's requests: how their bytes become batches, and how clients are answered. */
export interface RequestFormat {
  readonly refusals: RequestRefusals;
  /** Returns undefined if bodies of this Content-Type are not accepted at this URL. */
  encodingOf(contentType: string | undefined, url: string): BodyEncoding | undefined;
  /**
   * Throws a `MalformedError` if the body is not a request of this signal, or holds more than `maxElements` records and
   * values. What may take long comes in steps, and other work gets its turn between two of them. A format has either this
   * or `toBatches`.
   */
  toBatch?(signal: Signal, encoding: BodyEncoding, body: readonly Buffer[], maxElements: number): Batch | Steps<Batch>;
  /** The same for HTTP requests that hold several signals, or that cannot be read without their head. */
  toBatches?(
    head: ReceivedHead,
    encoding: BodyEncoding,
    body: readonly Buffer[],
    maxElements: number,
  ): Steps<RequestBatches>;
  /**
   * Answers an HTTP request from its head, before its path is looked at: health checks, and requests that lack
   * something. Returns undefined if the request is to be read.
   */
  answerHead?(head: ReceivedHead): FormatAnswer | undefined;
  /** How clients get an error over HTTP. Default: as OTLP's status or as plain text. */
  answerError?(error: ErrorAnswer): FormatAnswer;
  /** The text that clients of the encoding `other` get with a success; none if it is left out. */
  successText?(outcome: Extract<Outcome, { ok: true }>): string;
}

/** The answers to requests that are not handed in. */
export interface RequestRefusals {
  readonly shuttingDown: ErrorAnswer;
  /** There is no memory for the request. */
  readonly overloaded: ErrorAnswer;
  readonly wrongMethod: ErrorAnswer;
  readonly wrongType: ErrorAnswer;
  notFound(url: string | undefined, paths: readonly string[]): ErrorAnswer;
  noPipeline(signal: Signal, receiver: string): ErrorAnswer;
  wrongCompression(name: string, accepted: string): ErrorAnswer;
  /** The body has more bytes than the limit, before or after decompression. */
  tooLarge(limit: number): ErrorAnswer;
  /** The body could not be decompressed or turned into a batch. */
  unreadable(error: unknown, limit: number): ErrorAnswer;
}

/** The refusals of OTLP, for a format of this name with these Content-Types. */
export function standardRefusals(name: string, contentTypes: string): RequestRefusals {
  return {
    shuttingDown: unavailable("shutting down; retry"),
    overloaded: OVERLOADED,
    wrongMethod: answer(405, GRPC_STATUS.UNIMPLEMENTED, "405 method not allowed; use POST"),
    wrongType: answer(415, GRPC_STATUS.INVALID_ARGUMENT, `415 unsupported media type; use ${contentTypes}`),
    notFound: (url, paths) => {
      const taken = `send ${name} to ${paths.join(", ")}`;
      return answer(404, GRPC_STATUS.UNIMPLEMENTED, `404 there is nothing at ${String(url).slice(0, 100)}; ${taken}`);
    },
    noPipeline: (signal, receiver) => {
      const key = `service.pipelines.${signal}.receivers`;
      const message = `no ${signal} pipeline reads from the receiver ${receiver}; add it to ${key}`;
      return answer(404, GRPC_STATUS.UNIMPLEMENTED, message);
    },
    wrongCompression: (compression, accepted) => {
      const reason = compression === "zstd" && !hasZstd ? ` (${ZSTD_MISSING})` : "";
      const message = `Content-Encoding ${compression} is not accepted${reason}; use ${accepted}`;
      return answer(415, GRPC_STATUS.INVALID_ARGUMENT, message);
    },
    tooLarge,
    unreadable,
  };
}

/** The upload was too slow, and others needed its memory. */
export const GAVE_WAY = unavailable("this request arrived too slowly, and others needed its memory; retry");

/** The rest of such a body is not read. */
export const TOO_FRAGMENTED = answer(
  400,
  GRPC_STATUS.INVALID_ARGUMENT,
  "the body arrived in pieces of a few bytes each; send larger pieces",
);

const OVERLOADED = unavailable("too much data is waiting to be delivered; retry later");

function tooLarge(limit: number): ErrorAnswer {
  const message = `received message larger than max: ${limit} bytes are allowed, after decompression`;
  return answer(413, GRPC_STATUS.RESOURCE_EXHAUSTED, message);
}

function unreadable(error: unknown, limit: number): ErrorAnswer {
  if (error instanceof DecompressError && error.fault === "too_large") return tooLarge(limit);
  if (error instanceof DecompressError && error.fault === "no_room") return OVERLOADED;
  const message = error instanceof Error ? error.message : String(error);
  const isClientError = isMalformed(error) || error instanceof DecompressError;
  if (isClientError) return answer(400, GRPC_STATUS.INVALID_ARGUMENT, message);
  return answer(500, GRPC_STATUS.INTERNAL, `the request could not be read: ${message}`);
}

function answer(httpStatus: number, code: number, message: string): ErrorAnswer {
  return { httpStatus, code, message };
}

function unavailable(message: string): ErrorAnswer {
  return { httpStatus: 503, code: GRPC_STATUS.UNAVAILABLE, message, retryAfterMs: BUSY_RETRY_AFTER_MS };
}
