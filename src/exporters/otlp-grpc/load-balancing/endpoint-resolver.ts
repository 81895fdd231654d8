/** Provides the list of endpoints. */
export interface EndpointResolver {
  /**
   * Resolves when the first answer has arrived, or has taken too long. `onChange` is called with every list, changed or
   * not.
   */
  start(onChange: (endpoints: readonly string[]) => void): Promise<void>;
  stop(): void;
}

/** Notes the outcome of a resolution. The reason of a failure is logged. */
export type OnResolved = (error?: unknown) => void;
