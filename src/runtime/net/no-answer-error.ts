/** No response arrived. `stale` means that the connection had worked before, and ended before the response began. */
export class NoAnswerError extends Error {
  override readonly name = "NoAnswer";
  readonly stale: boolean;

  constructor(cause: unknown, stale: boolean) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    this.stale = stale;
  }
}
