/** A place with archived objects: a bucket, or a folder on disk. */
export interface ArchiveSource {
  /** The place as people write it, such as `s3://bucket`; the key of an object follows after a slash. */
  readonly place: string;
  /** The name of the transport in metrics and in the origin of records. */
  readonly transport: string;
  /**
   * Yields the objects whose keys begin with `prefix`, in the order of their keys, those after the key `after` only.
   * An object is read when it is asked for: a list of millions takes no more memory than one page. Rejects with an
   * `ArchiveError` if the place cannot be listed.
   */
  list(prefix: string, after: string | undefined, abort: AbortSignal): AsyncIterable<ArchivedObject>;
  /** Rejects with an `ArchiveError`, here or while the content is read. */
  open(object: ArchivedObject, abort: AbortSignal): Promise<AsyncIterable<Uint8Array>>;
  close?(): void;
}

export interface ArchivedObject {
  readonly key: string;
  readonly size: number;
  /** Milliseconds since the epoch. */
  readonly modifiedAt: number;
  /** Changes when the content changes. */
  readonly version: string;
}

/** Why an object could not be read, or not completely. */
export type ObjectFault =
  | "not_ours"
  | "empty"
  | "truncated"
  | "damaged"
  | "too_large"
  | "unreadable"
  | "no_pipeline"
  | "condition_failed"
  | "refused";

/**
 * A failure of the archive. With a `fault` it is about one object, which can be left out; without one, nothing can be
 * read. `isTransient` says that the same request may succeed later.
 */
export class ArchiveError extends Error {
  override readonly name = "ArchiveError";
  readonly fault: ObjectFault | undefined;
  readonly isTransient: boolean;

  constructor(message: string, options: { fault?: ObjectFault; isTransient?: boolean; cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.fault = options.fault;
    this.isTransient = options.isTransient ?? false;
  }
}
