import type { Batch, ProcessorContext } from "../../../plugin.js";

/** A trace as its policies see it: all of its spans that have come. */
export interface WholeTrace {
  /** Sixteen characters, one for each byte of the id. */
  readonly id: string;
  readonly spanCount: number;
  /** Made when first asked for: many policies need no look at the spans. */
  readonly batch: Batch;
}

/** Does a policy want this trace? Throws when it cannot tell. */
export type Evaluate = (trace: WholeTrace) => boolean;

export type PolicyContext = Pick<ProcessorContext, "clock" | "logger" | "metrics">;

/** A policy as configured. Made anew for every pipeline, as some count what they let through. */
export type CreatePolicy = (context: PolicyContext) => Evaluate;

export interface PolicySpec {
  readonly name: string;
  /** Wants traces to be dropped, whatever other policies say. */
  readonly isDrop: boolean;
  readonly create: CreatePolicy;
}
