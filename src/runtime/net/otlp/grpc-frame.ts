/** gRPC's message framing: one byte that says whether the message is compressed, four bytes of length. */
export const GRPC_FRAME_HEADER = 5;

/** The header of a frame for a message of this length. */
export function grpcFrameHeader(length: number, compressed: boolean): Buffer {
  const header = Buffer.allocUnsafe(GRPC_FRAME_HEADER);
  header[0] = compressed ? 1 : 0;
  header.writeUInt32BE(length, 1);
  return header;
}

/** A complete frame for a short message. */
export function grpcFrame(message: Uint8Array): Buffer {
  return Buffer.concat([grpcFrameHeader(message.length, false), message]);
}

/** Why bytes are not exactly one frame, as a unary call requires. */
export type FrameFault = "none" | "incomplete" | "several" | "flag";

/** The message of a unary call. */
interface SingleFrame {
  readonly compressed: boolean;
  readonly message: Buffer;
}

/** Length that the frame's header declares; undefined while the header is incomplete. */
export function claimedLength(chunks: readonly Buffer[]): number | undefined {
  const first = chunks[0];
  if (first === undefined) return undefined;
  if (first.length >= GRPC_FRAME_HEADER) return first.readUInt32BE(1);
  const start = Buffer.concat(chunks);
  return start.length >= GRPC_FRAME_HEADER ? start.readUInt32BE(1) : undefined;
}

/**
 * The message of a unary call, copied into one piece. Even a single chunk is copied on purpose: HTTP/2 gives out slices
 * of its 64 KiB read buffer, and a small message would keep all of it alive.
 */
export function singleFrame(chunks: readonly Buffer[], total: number): SingleFrame | FrameFault {
  if (total === 0) return "none";
  if (total < GRPC_FRAME_HEADER) return "incomplete";
  const length = claimedLength(chunks)!;
  if (total < GRPC_FRAME_HEADER + length) return "incomplete";
  if (total > GRPC_FRAME_HEADER + length) return "several";
  const flag = firstByte(chunks);
  if (flag > 1) return "flag";
  return { compressed: flag === 1, message: withoutHeader(chunks, length) };
}

function firstByte(chunks: readonly Buffer[]): number {
  for (const chunk of chunks) if (chunk.length > 0) return chunk[0]!;
  return 0;
}

function withoutHeader(chunks: readonly Buffer[], length: number): Buffer {
  const message = Buffer.allocUnsafe(length);
  let skip = GRPC_FRAME_HEADER;
  let at = 0;
  for (const chunk of chunks) {
    if (skip >= chunk.length) {
      skip -= chunk.length;
      continue;
    }
    at += chunk.copy(message, at, skip);
    skip = 0;
  }
  return message;
}
