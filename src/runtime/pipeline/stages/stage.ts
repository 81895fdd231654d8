import { finalize } from "rxjs";
import type { Delivery, Logger, Processor } from "#contract";
import { shutdownRefusal } from "#contract/errors";
import { DeliverySource } from "../stream-ends.js";
import { HoldingGate } from "./holding-gate.js";

/** One way on from a stage: to the next stage, or to an exporter. */
export interface StageLink {
  /** Names what it leads to. A fan-out remembers by this name which of its branches have accepted a delivery. */
  readonly key: string;
  /** The pipeline that begins there; routes choose by it. */
  readonly pipeline?: string;
  /** True for the way to the connector of a processor, which gets copies. */
  readonly isCopy?: boolean;
  /** The stage that it leads to; a drain finds its order by this. */
  readonly to: object;
  next(delivery: Delivery): void;
}

/** Hands a delivery to some of the links. */
export type Distribute = (delivery: Delivery, links: readonly StageLink[]) => void;

interface StageSettings {
  readonly processor: Processor;
  readonly distribute: Distribute;
  readonly logger: Logger;
}

/**
 * One step of a graph: a stream of its own, with an entry for deliveries, a processor, and links to the next steps. The
 * links can be exchanged while the stage runs, in one synchronous step: that is how a graph changes without a gap.
 */
export class GraphStage {
  readonly key: string;
  links: readonly StageLink[] = [];
  private readonly input = new DeliverySource();
  private readonly endListeners: (() => void)[] = [];
  private hasEnded = false;
  private readonly unsubscribe: () => void;
  private readonly gate = new HoldingGate<Delivery>((delivery) => this.input.next(delivery));

  /** Subscribes; this is the only subscribe of a graph. */
  constructor(key: string, { processor, distribute, logger }: StageSettings) {
    this.key = key;
    const subscription = processor(this.input.deliveries)
      .pipe(finalize(() => this.onEnd()))
      .subscribe({
        next: (delivery) => {
          try {
            distribute(delivery, this.links);
          } catch (error) {
            delivery.refuse(error); // RxJS would report it outside of the stream, and the delivery would stay unsettled
          }
        },
        error: (error) => logger.error({ err: error, stage: key }, "a stream ended with an error"),
      });
    this.unsubscribe = () => subscription.unsubscribe();
  }

  next(delivery: Delivery): void {
    this.gate.next(delivery);
  }

  /** From now on deliveries wait in front of the stage, until `release`. Their senders wait with them. */
  hold(): void {
    this.gate.close();
  }

  /** Hands what was held to the stage that takes this one's place, or to this one. */
  release(successor: GraphStage = this): void {
    this.gate.open(successor.gate);
  }

  /** Ends the input. The processor flushes what it holds; `onEnded` is called when all of it has been handed on. */
  drain(onEnded: () => void): void {
    if (this.hasEnded) return onEnded();
    this.endListeners.push(onEnded);
    this.input.complete();
  }

  /** Everything still inside is refused. What is held stays. */
  end(): void {
    this.unsubscribe();
  }

  /** Everything still inside is refused, and what is held. */
  abort(): void {
    this.unsubscribe();
    for (const delivery of this.gate.takeWaiting()) delivery.refuse(shutdownRefusal());
  }

  private onEnd(): void {
    this.hasEnded = true;
    for (const listener of this.endListeners.splice(0)) listener();
  }
}

/** The end of a graph: takes what the stages hand on. */
interface DrainedEnd {
  drain(): Promise<void>;
}

/**
 * Drains stages and ends in the order of the streams: each as soon as all that feed it have drained. Stages that hold
 * nothing drain at once.
 */
export function drainInOrder(stages: readonly GraphStage[], ends: readonly DrainedEnd[]): Promise<void> {
  const feeding = new Map<object, number>([...stages, ...ends].map((each) => [each, 0]));
  const count = (to: object, change: 1 | -1) => {
    const feeds = feeding.get(to);
    if (feeds !== undefined) feeding.set(to, feeds + change);
    return feeds === undefined ? undefined : feeds + change;
  };
  for (const { links } of stages) for (const { to } of links) count(to, 1);
  return new Promise((resolve) => {
    let left = feeding.size;
    const onDrained = () => {
      left -= 1;
      if (left === 0) resolve();
    };
    const drain = (each: GraphStage | DrainedEnd) => {
      if (!(each instanceof GraphStage)) return void each.drain().then(onDrained);
      const { links } = each;
      each.drain(() => {
        for (const { to } of links) if (count(to, -1) === 0) drain(to as GraphStage | DrainedEnd);
        onDrained();
      });
    };
    if (left === 0) resolve();
    for (const [each, feeds] of [...feeding]) if (feeds === 0) drain(each as GraphStage | DrainedEnd);
  });
}
