/**
 * Encodes an exporter's id as a directory name. Everything except small letters, digits, `-` and `_` is written as %XX
 * of its UTF-8 bytes. This is safe on every file system, including those that do not distinguish A and a. An id that is
 * the name of a worker's directory begins with such a %XX too.
 */
export function directoryNameOf(id: string): string {
  const escaped = (byte: number) => `%${byte.toString(16).padStart(2, "0")}`;
  const name = Array.from(Buffer.from(id), (byte) => {
    const char = String.fromCharCode(byte);
    return /[a-z0-9_-]/.test(char) ? char : escaped(byte);
  }).join("");
  return workerOfDirectory(name) === undefined ? name : `${escaped(name.charCodeAt(0))}${name.slice(1)}`;
}

/** Decodes a directory name. Undefined if `directoryNameOf` cannot have produced it. */
export function exporterOfDirectory(name: string): string | undefined {
  try {
    const id = decodeURIComponent(name);
    return directoryNameOf(id) === name ? id : undefined;
  } catch {
    return undefined;
  }
}

/** Returns the id of a pipeline's journal among the queues. */
export function journalId(pipeline: string): string {
  return `${JOURNAL_PREFIX}${pipeline}`;
}

export const JOURNAL_PREFIX = "intake/";

/** Returns the name of the directory of a worker's queues. Those of worker 1 are where a single process has them. */
export function workerDirectoryName(worker: number): string {
  return `worker-${worker}`;
}

/** Returns the number of the worker that has a directory of this name; undefined if it is not a worker's. */
export function workerOfDirectory(name: string): number | undefined {
  const [, digits] = /^worker-([1-9]\d{0,5})$/.exec(name) ?? [];
  return digits === undefined ? undefined : Number(digits);
}

/** A queue of one of several workers. `id` is that of its exporter or journal. */
export interface WorkerQueue {
  readonly worker: number;
  readonly id: string;
  /** Whether it certainly has entries. */
  readonly isFilled?: boolean;
}

/** Returns the id of another worker's queue among those of this one. No exporter has such an id. */
export function workerQueueId({ worker, id }: WorkerQueue): string {
  return `${workerDirectoryName(worker)}:${id}`;
}

export function parseWorkerQueueId(text: string): WorkerQueue | undefined {
  const colon = text.indexOf(":");
  const worker = colon === -1 ? undefined : workerOfDirectory(text.slice(0, colon));
  return worker === undefined ? undefined : { worker, id: text.slice(colon + 1) };
}
