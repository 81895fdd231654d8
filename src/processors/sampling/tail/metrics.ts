import type { Counter, Metrics } from "../../../plugin.js";

export type Decision = "sampled" | "not_sampled" | "dropped";

const PREFIX = "otelcol_processor_tail_sampling";

/** Metrics under the Collector's names, where it has them. */
export class TailMetrics {
  private readonly metrics: Metrics;
  private readonly decisions: Readonly<Record<Decision, Counter>>;
  private readonly byPolicy = new Map<string, Readonly<Record<Decision, Counter>>>();
  readonly policyFailures: Counter;
  readonly newTraces: Counter;
  readonly tooLarge: Counter;
  readonly repeatedSpans: Counter;
  readonly lateKept: Counter;
  readonly lateDropped: Counter;
  readonly decidedEarly: Readonly<Record<"num_traces" | "max_bytes", Counter>>;

  constructor(metrics: Metrics) {
    this.metrics = metrics;
    this.decisions = this.countersByDecision("global_count_traces_sampled", "Traces decided.");
    this.policyFailures = this.counter(
      `${PREFIX}_sampling_policy_evaluation_error`,
      "Policies that failed on a trace.",
    );
    this.newTraces = this.counter(`${PREFIX}_new_trace_id_received`, "Traces that began to wait.");
    this.tooLarge = this.counter(`${PREFIX}_traces_dropped_too_large`, "Traces over maximum_trace_size_bytes.");
    this.repeatedSpans = this.counter(
      "sluice_tail_sampling_repeated_spans",
      "Spans that clients sent again while they waited.",
    );
    const late = (sampled: string) =>
      this.counter(`${PREFIX}_early_releases_from_cache_decision`, "Spans that arrived after the decision.", {
        sampled,
      });
    this.lateKept = late("true");
    this.lateDropped = late("false");
    const early = (reason: string) =>
      this.counter("sluice_tail_sampling_decided_early", "Traces decided early for lack of room.", {
        reason,
      });
    this.decidedEarly = { num_traces: early("num_traces"), max_bytes: early("max_bytes") };
  }

  decided(decision: Decision): void {
    this.decisions[decision].add(1);
  }

  policyDecided(policy: string, decision: Decision): void {
    let counters = this.byPolicy.get(policy);
    if (counters === undefined) {
      counters = this.countersByDecision("count_traces_sampled", "Traces, by policy and decision.", { policy });
      this.byPolicy.set(policy, counters);
    }
    counters[decision].add(1);
  }

  /** Reports the waiting traces and bytes until the returned function is called. */
  registerGauges(traces: () => number, bytes: () => number): () => void {
    const gauges = [
      this.metrics.gauge(`${PREFIX}_sampling_traces_on_memory`, { description: "Traces that wait." }, traces),
      this.metrics.gauge("sluice_tail_sampling_waiting_bytes", { description: "Bytes that wait.", unit: "By" }, bytes),
    ];
    return () => {
      for (const remove of gauges) remove();
    };
  }

  private countersByDecision(name: string, description: string, labels = {}): Readonly<Record<Decision, Counter>> {
    const of = (decision: Decision) =>
      this.counter(`${PREFIX}_${name}`, description, { ...labels, sampled: String(decision === "sampled"), decision });
    return { sampled: of("sampled"), not_sampled: of("not_sampled"), dropped: of("dropped") };
  }

  private counter(name: string, description: string, labels = {}): Counter {
    return this.metrics.counter(name, { description }, labels);
  }
}
