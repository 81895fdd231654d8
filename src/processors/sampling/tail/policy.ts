import type { Batch, ProcessorContext } from "../../../plugin.js";

/** A trace as policies see it: all of its spans that have arrived. */
export interface WholeTrace {
  /** The id as sixteen characters, one for each byte. */
  readonly id: string;
  readonly spanCount: number;
  /** Built on first access, because many policies do not read the spans. */
  readonly batch: Batch;
}

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
