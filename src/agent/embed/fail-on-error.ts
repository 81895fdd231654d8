import { AsyncLocalStorage } from "node:async_hooks";

/**
 * Decides whether the program sees a failure: the option of the call comes first, then the scope, then the instance.
 */
export class FailOnError {
  private readonly byDefault: boolean;
  /** Created on first use: in older Node.js versions it slows down every promise of the process. */
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

/** A caller that awaits the promise sees the rejection. Otherwise no unhandled rejection is raised. */
export function withoutUnhandledRejection<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  return promise;
}
