import { type FileHandle, open as openFile } from "node:fs/promises";

/** A real disk that can simulate being full. */
export interface FailingDisk {
  open(path: string): Promise<FileHandle>;
  /** Accepts this many more bytes, then fails one write with ENOSPC (and one truncate, if requested), and recovers. */
  failAfter(bytes: number, also?: { readonly truncate: boolean }): void;
  readonly writes: number;
  /** Number of flushes. */
  readonly flushes: number;
  /** Makes flushes wait until the returned function is called. */
  holdFlushes(): () => void;
}

export function failingOpen(): FailingDisk {
  let left = Number.POSITIVE_INFINITY;
  let failTruncate = false;
  let writes = 0;
  let flushes = 0;
  let flushing = Promise.resolve();

  function full(): Error {
    left = Number.POSITIVE_INFINITY;
    return Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" });
  }

  function wrap(handle: FileHandle): FileHandle {
    const write = handle.write.bind(handle) as (...how: [Buffer, number, number]) => Promise<unknown>;
    const truncate = handle.truncate.bind(handle);
    const datasync = handle.datasync.bind(handle);
    return Object.assign(handle, {
      async write(bytes: Buffer, offset: number, length: number) {
        writes++;
        if (left === 0) throw full();
        const taken = Math.min(left, length);
        left -= taken;
        return write(bytes, offset, taken);
      },
      async datasync() {
        flushes++;
        await flushing;
        return datasync();
      },
      async truncate(length?: number) {
        if (!failTruncate) return truncate(length);
        failTruncate = false;
        throw Object.assign(new Error("EIO: i/o error, ftruncate"), { code: "EIO" });
      },
    });
  }

  return {
    open: async (path) => wrap(await openFile(path, "a+")),
    failAfter(bytes, also) {
      left = bytes;
      failTruncate = also?.truncate ?? false;
    },
    get writes() {
      return writes;
    },
    get flushes() {
      return flushes;
    },
    holdFlushes() {
      let release = () => {};
      flushing = new Promise((resolve) => {
        release = resolve;
      });
      return () => release();
    },
  };
}
