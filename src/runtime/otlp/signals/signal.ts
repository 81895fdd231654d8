/** The kinds of telemetry that a pipeline can carry. */
export type Signal = "logs" | "traces" | "metrics";

/** The three signals, for components that accept all of them. */
export const SIGNALS: readonly Signal[] = ["logs", "traces", "metrics"];
