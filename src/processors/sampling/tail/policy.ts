import type { Batch, ProcessorContext } from "../../../plugin.js";

/** A trace as policies see it: all of its spans that have arrived. */
export interface WholeTrace {
  /** The id as sixteen characters, one for each byte. */
  readonly id: string;
  readonly spanCount: number;
  /** Whether any span of the trace passes the test. Unlike `batch`, this copies nothing. */
  anySpan(test: SpanTest): boolean;
  /** Built on first access, because many policies do not read the spans. */
  readonly batch: Batch;
}

/** Tests a span: the message [start, end) of these bytes. */
export type SpanTest = (b: Uint8Array, start: number, end: number) => boolean;

/** Returns whether a policy wants this trace. Throws if it cannot tell. */
export type Evaluate = (trace: WholeTrace) => boolean;

export type PolicyContext = Pick<ProcessorContext, "clock" | "logger" | "metrics">;

/** Makes a configured policy. Each pipeline gets its own, because some policies count what they let through. */
export type CreatePolicy = (context: PolicyContext) => Evaluate;

export interface PolicySpec {
  readonly name: string;
  /** Whether the policy drops the traces that it wants, whatever other policies say. */
  readonly isDrop: boolean;
  readonly create: CreatePolicy;
}
