import type { BuiltInHost } from "#contract/built-in";
import type { ExporterStatus, GraphDescription, ReceiverStatus } from "#contract/operations";

/** The Collector's names of states. */
export type CollectorStatus =
  | "StatusStarting"
  | "StatusOK"
  | "StatusRecoverableError"
  | "StatusPermanentError"
  | "StatusStopping"
  | "StatusStopped";

/** The state of a component, a pipeline or the agent, and of the parts it has. */
export interface StateTree {
  readonly status: CollectorStatus;
  readonly error?: string;
  /** Since when it is in this state, in milliseconds. */
  readonly sinceMs: number;
  readonly parts: ReadonlyMap<string, StateTree>;
}

type ErrorState = Pick<StateTree, "status" | "error" | "sinceMs">;

const STATUS_OF_HOST: Readonly<Record<BuiltInHost["state"], CollectorStatus>> = {
  starting: "StatusStarting",
  ready: "StatusOK",
  draining: "StatusStopping",
  stopped: "StatusStopped",
};

/** Remembers since when components are in their states. */
export class ComponentStates {
  private readonly startedMs: number;
  private known = new Map<string, ErrorState>();

  constructor(startedMs: number) {
    this.startedMs = startedMs;
  }

  /** The state of the agent, its pipelines and their components. */
  read(host: BuiltInHost, nowMs: number): StateTree {
    const seen = new Map<string, ErrorState>();
    const pipelines = new Map<string, StateTree>();
    const own = STATUS_OF_HOST[host.state];
    const troubles = troublesOf(host);
    for (const [pipeline, components] of pipelinesOf(host.inspection?.graph)) {
      const parts = new Map<string, StateTree>();
      for (const component of components) {
        const state = this.since(component, troubles.get(component) ?? { status: own }, nowMs);
        seen.set(component, state);
        parts.set(component, { ...state, parts: NO_PARTS });
      }
      pipelines.set(`pipeline:${pipeline}`, combined(own, parts, this.startedMs));
    }
    this.known = seen;
    return combined(own, pipelines, this.startedMs);
  }

  private since(component: string, state: Omit<ErrorState, "sinceMs">, nowMs: number): ErrorState {
    const before = this.known.get(component);
    if (before?.status === state.status) return { ...state, sinceMs: before.sinceMs };
    return { ...state, sinceMs: before === undefined && state.status === "StatusOK" ? this.startedMs : nowMs };
  }
}

const NO_PARTS: ReadonlyMap<string, StateTree> = new Map();
const ERRORS: readonly CollectorStatus[] = ["StatusPermanentError", "StatusRecoverableError"];

/** The worst state of the parts, unless the agent starts or stops. */
function combined(own: CollectorStatus, parts: ReadonlyMap<string, StateTree>, startedMs: number): StateTree {
  const values = [...parts.values()];
  const worst = ERRORS.map((error) => values.find(({ status }) => status === error)).find((each) => each !== undefined);
  if (own !== "StatusOK" || worst === undefined) return { status: own, sinceMs: startedMs, parts };
  const { status, error, sinceMs } = worst;
  return { status, sinceMs, parts, ...(error !== undefined && { error }) };
}

/** Components as the Collector names them, by pipeline. */
function pipelinesOf(graph: GraphDescription | undefined): ReadonlyMap<string, readonly string[]> {
  const pipelines = new Map<string, string[]>();
  for (const { kind, name, pipelines: names } of graph?.nodes ?? [])
    for (const pipeline of names) {
      const components = pipelines.get(pipeline) ?? [];
      pipelines.set(pipeline, [...components, `${kind}:${name}`]);
    }
  return pipelines;
}

function troublesOf(host: BuiltInHost): ReadonlyMap<string, Omit<ErrorState, "sinceMs">> {
  const troubles = new Map<string, Omit<ErrorState, "sinceMs">>();
  for (const exporter of host.admin?.exporters() ?? [])
    if (exporter.state === "DOWN") troubles.set(`exporter:${exporter.id}`, exporterTrouble(exporter));
  for (const receiver of host.receivers?.() ?? [])
    if (receiver.state === "DOWN") troubles.set(`receiver:${receiver.id}`, receiverTrouble(receiver));
  return troubles;
}

function exporterTrouble({ refused, lastError }: ExporterStatus): Omit<ErrorState, "sinceMs"> {
  if (refused !== undefined) return { status: "StatusPermanentError", error: refused.message };
  return { status: "StatusRecoverableError", error: lastError?.class ?? "the exporter cannot deliver" };
}

function receiverTrouble({ lastError }: ReceiverStatus): Omit<ErrorState, "sinceMs"> {
  return { status: "StatusRecoverableError", error: lastError?.message ?? "the receiver cannot read" };
}
