/** There is less room on the disk than is to be left; the system has not refused anything yet. */
export class NoSpaceError extends Error {
  readonly code = "ENOSPC";

  /** In bytes: what is left, with what the ballast holds, and how much there has to be. */
  constructor(left: number, needed: number) {
    super(`${inMebibytes(left)} MiB are left on its disk, and ${inMebibytes(needed)} MiB have to be`);
  }
}

function inMebibytes(bytes: number): string {
  return (bytes / 1024 / 1024).toFixed(1);
}
