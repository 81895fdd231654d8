import type { ComponentKind, Delivery, Exporter, PlannedComponent, Processor, Receiver } from "#contract";
import { shutdownRefusal } from "#contract/errors";
import { type Outlet, statefulProcessor, type WorkerMode, workerMode } from "#contract/operators";

/**
 * Moves deliveries between the workers of an agent, so that components see whole traces and series. Every worker builds
 * the same graph from the same config. An exchange is a place in front of each component that needs one: what belongs
 * to this worker passes, and everything else comes out of the place with the same name in the worker that it belongs
 * to. The debt stays here, and is settled as the other worker settles its part.
 */
export interface WorkerExchange {
  /** The number of this worker, from 1. */
  readonly number: number;
  /** The number of all workers. */
  readonly count: number;
  /** From now on deliveries of other workers may arrive. */
  start(): Promise<void>;
  /** Everything under way is refused, on both sides. */
  stop(): Promise<void>;
  /** Opens a place of the graph. */
  open(place: string, settings: ExchangePlaceSettings): ExchangePlace;
}

export interface ExchangePlaceSettings {
  readonly mode: Exclude<WorkerMode, "each">;
  /** Takes a delivery that arrives from another worker, and settles it at some time. */
  readonly onArrival: (delivery: Delivery) => void;
  /** How many bytes may be under way to each other worker. */
  readonly limit: () => number;
}

export interface ExchangePlace {
  /** Hands over what belongs to other workers. Returns the part that belongs here, if there is any. */
  handOver(delivery: Delivery): Delivery | undefined;
  /** Resolves when everything that was handed over is settled. */
  settled(): Promise<void>;
  /** Nothing arrives any more. What was handed over and is not settled is refused. */
  close(): void;
}

/** The worker that runs what only one worker can run, and that has the queue directory of an agent without workers. */
const FIRST_WORKER = 1;

/** A planned component, as far as workers are concerned. */
export type WorkerSpec = PlannedComponent<Parameters<typeof workerMode>[0]>;

/**
 * Whether this worker runs a component that only one worker runs. Receivers are spread over the workers by their ids, so
 * that a reload moves none. Everything that may have a queue is in the first worker.
 */
export function runsHere(
  exchange: WorkerExchange | undefined,
  kind: ComponentKind,
  { id, factory, config }: WorkerSpec,
): boolean {
  const mode = workerMode(factory, config);
  if (exchange === undefined || mode === "each") return true;
  if (kind !== "receiver") return mode !== "one" || exchange.number === FIRST_WORKER;
  return exchange.number === ownerOfReceiver(id, exchange.count);
}

/** The worker that runs a receiver which only one worker runs. */
function ownerOfReceiver(id: string, workers: number): number {
  let sum = 0;
  for (const character of id) sum = (Math.imul(sum, 31) + character.codePointAt(0)!) >>> 0;
  return FIRST_WORKER + (sum % workers);
}

/** Puts an exchange into a stream. The end of its input drains it: it waits for what was handed over. */
export function exchangeOperator(
  exchange: WorkerExchange,
  place: string,
  mode: ExchangePlaceSettings["mode"],
  limit: () => number,
): Processor {
  return statefulProcessor((out) => {
    const onArrival = (delivery: Delivery) => out.next(delivery);
    const opened = exchange.open(place, { mode, onArrival, limit });
    return {
      next(delivery) {
        const here = opened.handOver(delivery);
        if (here !== undefined) out.next(here);
      },
      drain: () => opened.settled().then(() => opened.close()),
      abort: () => opened.close(),
    };
  });
}

/** Takes the place of an exporter that another worker runs. Nothing is sent to it. */
export const EXPORTER_ELSEWHERE: Exporter = { send: () => Promise.reject(shutdownRefusal()) };

/** Takes the place of the outlet of such an exporter. */
export const OUTLET_ELSEWHERE: Outlet = {
  accept: (delivery) => delivery.refuse(shutdownRefusal()),
  drain: async () => {},
  abort: () => {},
};

/** Takes the place of a receiver that another worker runs. */
export const RECEIVER_ELSEWHERE: Receiver = { start: async () => {}, stop: async () => {} };
