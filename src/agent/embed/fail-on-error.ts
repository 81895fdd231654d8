import { AsyncLocalStorage } from "node:async_hooks";

/** Whether a failure is told to the program: as a call says, else its scope, else the instance. */
export class FailOnError {
  private readonly byDefault: boolean;
  /** Made when first used: in older Node.js it costs every promise of the process a little. */
  private scopes: AsyncLocalStorage<boolean> | undefined;

  constructor(always: boolean) {
    this.byDefault = always;
  }

  runWith<T>(failOnError: boolean, run: () => T): T {
    this.scopes ??= new AsyncLocalStorage();
    return this.scopes.run(failOnError, run);
  }

  get current(): boolean {
    return this.scopes?.getStore() ?? this.byDefault;
  }
}

/** Whoever awaits it sees the rejection; if nobody does, nothing happens. */
export function withoutUnhandledRejection<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  return promise;
}
