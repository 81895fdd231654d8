import type { ReloadReport, RemoteConfigFile } from "#contract/operations";
import type { RehearsalReport } from "#contract/rehearsal";
import { Batch } from "#otlp";
import { SIGNALS, type Signal } from "#otlp/signals";
import type { ReadBatch } from "../sample-file.js";

/** The texts that a config was loaded from. They contain secrets, and go to the child through a pipe only. */
export interface ConfigSnapshot {
  /** Every file that was read, by path: config files, and what `${file:...}` names. */
  readonly files: Readonly<Record<string, string>>;
  /** Hashes of the plugins' main files, by path. */
  readonly plugins: Readonly<Record<string, string>>;
  readonly remoteFiles: readonly RemoteConfigFile[];
}

/**
 * The task of the child: it rehearses the config as it is on disk now against the one that was loaded from `before`. If
 * there is a `change`, the files on disk do not count: the config of `before` is rehearsed with the change after it.
 */
export interface RehearsalTask {
  /** The arguments of `--config` and `--set`. */
  readonly config: readonly string[];
  readonly set: readonly string[];
  readonly remoteFiles: readonly RemoteConfigFile[];
  readonly before: ConfigSnapshot;
  readonly change?: RemoteConfigFile;
}

/** The reports of the child, a line of JSON each. */
export type ChildMessage =
  | {
      /** Both configs are loaded, and the sample may come. */
      readonly loaded: {
        readonly generation: string;
        readonly problems: ReloadReport["problems"];
        readonly changedPlugins: readonly string[];
      };
    }
  | { readonly problems: ReloadReport["problems"] }
  | { readonly progress: number }
  | { readonly report: RehearsalReport }
  | { readonly error: string };

/**
 * Frames from the agent to the child: the length of the rest as four bytes, little-endian, a byte for the kind, and the
 * body. A batch's body is the length of its header as four bytes, the header as JSON, and the payload.
 */
const KINDS = { task: 1, batch: 2, end: 3 } as const;
const PREFIX_BYTES = 5;
const MAX_FRAME_BYTES = 256 * 1024 * 1024;

export function encodeTask(task: RehearsalTask, agentPid: number): Uint8Array {
  return encodeFrame(KINDS.task, Buffer.from(JSON.stringify({ task, agentPid })));
}

/** `skipped` records passed and were not sampled. */
export function encodeEnd(skipped: number): Uint8Array {
  return encodeFrame(KINDS.end, Buffer.from(JSON.stringify({ skipped })));
}

function encodeFrame(kind: number, body: Uint8Array): Uint8Array {
  return Buffer.concat([prefixOf(kind, body.length), body]);
}

/** Returns the parts of the frame, to be written one after the other: the payload is not copied. */
export function encodeBatch({ signal, bytes }: Batch, receiver: string, at: number): readonly Uint8Array[] {
  const header = Buffer.from(JSON.stringify({ receiver, signal, at }));
  const length = Buffer.alloc(4);
  length.writeUInt32LE(header.length);
  return [prefixOf(KINDS.batch, length.length + header.length + bytes.length), length, header, bytes];
}

function prefixOf(kind: number, length: number): Buffer {
  const prefix = Buffer.alloc(PREFIX_BYTES);
  prefix.writeUInt32LE(length + 1);
  prefix[4] = kind;
  return prefix;
}

type ChildFrame =
  | { readonly task: RehearsalTask; readonly agentPid: number }
  | { readonly batch: ReadBatch }
  | { readonly skipped: number };

/** Reads frames until the one that ends the sample. Rejects if the input ends before: then the agent is gone. */
export async function* readFrames(input: AsyncIterable<Buffer>): AsyncGenerator<ChildFrame> {
  let chunks: Buffer[] = [];
  let held = 0;
  for await (const chunk of input) {
    chunks.push(chunk);
    held += chunk.length;
    for (let needed = frameLength(chunks, held); held >= needed; needed = frameLength(chunks, held)) {
      const all = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
      const frame = decodeFrame(all.subarray(4, needed));
      yield frame;
      if ("skipped" in frame) return;
      chunks = [all.subarray(needed)];
      held -= needed;
    }
  }
  throw new Error("the agent ended the rehearsal");
}

/** The length of the first frame; more than there is if that is not known yet. */
function frameLength(chunks: readonly Buffer[], held: number): number {
  if (held < 4) return Number.POSITIVE_INFINITY;
  const head = chunks[0]!.length >= 4 ? chunks[0]! : Buffer.concat(chunks);
  const length = head.readUInt32LE(0);
  if (length > MAX_FRAME_BYTES) throw new Error("a frame is too large");
  return 4 + length;
}

function decodeFrame(frame: Buffer): ChildFrame {
  const body = frame.subarray(1);
  if (frame[0] === KINDS.task) return JSON.parse(body.toString("utf8")) as ChildFrame;
  if (frame[0] === KINDS.end) return JSON.parse(body.toString("utf8")) as { skipped: number };
  const headerEnd = 4 + body.readUInt32LE(0);
  const { receiver, signal, at } = JSON.parse(body.toString("utf8", 4, headerEnd)) as {
    readonly receiver: string;
    readonly signal: Signal;
    readonly at: number;
  };
  const known = SIGNALS.find((each) => each === signal)!;
  // A copy, because the rest of the chunk must not stay in memory with it.
  return { batch: { receiver, at, batch: Batch.admit(known, Uint8Array.from(body.subarray(headerEnd))) } };
}
