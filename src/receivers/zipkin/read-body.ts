import type { IncomingMessage } from "node:http";
import { DecompressError, decompress, SUPPORTED_ENCODINGS } from "#codecs/compression";
import type { Intake } from "../../plugin.js";

/** Why a body is rejected, with the status of the answer. */
export class BodyError extends Error {
  override readonly name = "BodyError";
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** A complete body. Its reserved memory is held until `release`. */
export interface ReadBody {
  readonly bytes: Buffer;
  release(): void;
}

/**
 * Reads a body and undoes its Content-Encoding, within the limit and the intake's room. Rejects with a `BodyError`,
 * after releasing everything it reserved.
 */
export async function readBody(
  request: IncomingMessage,
  intake: Intake,
  limit: number,
  stop: AbortSignal,
): Promise<ReadBody> {
  let reserved = 0;
  const release = () => intake.release(reserved);
  const reserve = (bytes: number) => {
    if (!intake.reserve(bytes)) return false;
    reserved += bytes;
    return true;
  };
  try {
    const encoding = encodingOf(request);
    const packed = await chunksOf(request, limit, reserve, stop);
    if (encoding === undefined) return { bytes: packed, release };
    return { bytes: await decompress(encoding, packed, { limit, reserve }), release };
  } catch (error) {
    release();
    throw error instanceof DecompressError ? bodyErrorOf(error) : error;
  }
}

function encodingOf(request: IncomingMessage): string | undefined {
  const encoding = request.headers["content-encoding"]?.trim().toLowerCase() ?? "";
  if (encoding === "" || encoding === "identity") return undefined;
  if (!SUPPORTED_ENCODINGS.includes(encoding))
    throw new BodyError(415, `the Content-Encoding is not accepted; use ${SUPPORTED_ENCODINGS.join(", ")}`);
  return encoding;
}

function chunksOf(
  request: IncomingMessage,
  limit: number,
  reserve: (bytes: number) => boolean,
  stop: AbortSignal,
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const end = (error: BodyError | undefined) => {
      stop.removeEventListener("abort", onStop);
      request.off("data", onData).off("end", onEnd).off("close", onClose);
      if (error === undefined) return resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks));
      request.pause();
      reject(error);
    };
    const onData = (chunk: Buffer) => {
      size += chunk.length;
      if (size > limit) return end(tooLarge(limit));
      if (!reserve(chunk.length)) return end(new BodyError(503, "too much is under way; come back later"));
      chunks.push(chunk);
    };
    const onEnd = () => end(undefined);
    const onClose = () => end(new BodyError(400, "the connection ended within the request"));
    const onStop = () => end(new BodyError(503, "shutting down"));
    if (stop.aborted) return onStop();
    if (Number(request.headers["content-length"] ?? 0) > limit) return end(tooLarge(limit));
    stop.addEventListener("abort", onStop);
    request.on("data", onData).on("end", onEnd).on("close", onClose);
  });
}

function tooLarge(limit: number): BodyError {
  return new BodyError(413, `the request has more than the ${limit} bytes of max_request_body_size`);
}

function bodyErrorOf(error: DecompressError): BodyError {
  const status = { corrupt: 400, too_large: 413, no_room: 503 }[error.fault];
  return new BodyError(status, error.message);
}
