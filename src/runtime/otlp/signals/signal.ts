/** The kinds of telemetry a pipeline can carry. */
export type Signal = "logs" | "traces" | "metrics";

/** The three signals, for components that take all of them. */
export const SIGNALS: readonly Signal[] = ["logs", "traces", "metrics"];
