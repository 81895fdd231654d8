/** The disk has less free space than must be left. The system has not refused a write yet. */
export class NoSpaceError extends Error {
  readonly code = "ENOSPC";

  /** `left` is the free space including the ballast, and `needed` the space required, in bytes. */
  constructor(left: number, needed: number) {
    super(`${inMebibytes(left)} MiB are left on its disk, and ${inMebibytes(needed)} MiB have to be`);
  }
}

function inMebibytes(bytes: number): string {
  return (bytes / 1024 / 1024).toFixed(1);
}
