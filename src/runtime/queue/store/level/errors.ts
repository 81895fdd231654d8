import { StoreError } from "../store.js";

/** Turns an error of LevelDB or the file system into a `StoreError` that says what to do. */
export function toStoreError(error: unknown, directory: string): StoreError {
  if (error instanceof StoreError) return error;
  const text = errorMessages(error);
  const options = { cause: error };
  if (/LEVEL_LOCKED|Resource temporarily unavailable/.test(text))
    return new StoreError(
      "locked",
      `the queue directory ${directory} is in use by another process: stop that one, or give this one a directory of its own`,
      options,
    );
  if (/ENOSPC|EDQUOT|No space left|Disk quota/i.test(text))
    return new StoreError(
      "full",
      `no space left for the queue in ${directory}${figuresOf(error)}: ${ADVICE_ON_FULL}`,
      options,
    );
  if (/LEVEL_CORRUPTION|Corruption:/.test(text))
    return new StoreError("corrupt", `the queue in ${directory} is damaged: ${text}`, options);
  return new StoreError("io", `cannot use the queue in ${directory}: ${text}`, options);
}

const ADVICE_ON_FULL = "it accepts data again when enough entries have been delivered or you have freed space";

function figuresOf(error: unknown): string {
  return error instanceof NoSpaceError ? ` (${error.message})` : "";
}

/** Whether LevelDB found its own files damaged. A missing or truncated table is reported as an I/O error. */
export function isDamageError(error: unknown): boolean {
  return DAMAGE_MESSAGE.test(errorMessages(error));
}

// Linear: digits are read once, behind a word that has none.
const DAMAGE_MESSAGE =
  /LEVEL_CORRUPTION|Corruption:|missing files|\.(ldb|sst|log): No such file|MANIFEST-\d+: No such file|\.(ldb|sst): Invalid argument/;

/** Whether a read came while the database was closed in order to be reopened. */
export function isClosedError(error: unknown): boolean {
  return /LEVEL_DATABASE_NOT_OPEN|LEVEL_ITERATOR_NOT_OPEN/.test(errorMessages(error));
}

function errorMessages(error: unknown): string {
  const texts: string[] = [];
  for (let at = error; at instanceof Error; at = at.cause) {
    const code = (at as NodeJS.ErrnoException).code;
    texts.push(code === undefined ? at.message : `${code}: ${at.message}`);
  }
  return texts.join(": ");
}

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
