import { Observable, type Observer, type Subscriber } from "rxjs";
import type { Delivery, Logger, Outcome } from "#contract";
import { ERROR_CODES, shutdownRefusal } from "#contract/errors";
import type { PartialAcceptance } from "./partial-acceptance.js";
import type { Deliveries } from "./streams.js";

interface Branch {
  readonly key: string;
  readonly out: Subscriber<Delivery>;
}

/** The keys of the branches that get a delivery; `undefined` means all. An empty choice is a deliberate drop. */
export type Choose = (delivery: Delivery) => ReadonlySet<string> | undefined;

const CHOOSE_ALL: Choose = () => undefined;

/**
 * Fan-out: gives each branch the whole batch of every delivery and a part of its debt, so the sender waits for all of
 * them. A branch that accepted the same delivery earlier, when another one refused it, is skipped. A junction without
 * branches refuses.
 */
export class Junction implements Observer<Delivery> {
  private readonly memory: PartialAcceptance<string>;
  private readonly logger: Logger;
  private readonly choose: Choose;
  private branches: readonly Branch[] = [];
  private isComplete = false;

  constructor(memory: PartialAcceptance<string>, logger: Logger, choose: Choose = CHOOSE_ALL) {
    this.memory = memory;
    this.logger = logger;
    this.choose = choose;
  }

  /** The deliveries for one branch. The key names it: by it the junction remembers what the branch has accepted. */
  branch(key: string): Deliveries {
    if (this.branches.some((each) => each.key === key)) throw new Error(`there are two branches ${key}`);
    return new Observable((out) => {
      if (this.isComplete) return out.complete();
      this.branches = [...this.branches, { key, out }];
      return () => {
        this.branches = this.branches.filter((each) => each.out !== out);
      };
    });
  }

  /** Takes all branches away, so that others can take their place at once. Returns what completes them. */
  clear(): () => void {
    const retired = this.branches;
    this.branches = [];
    return () => completeAll(retired);
  }

  /** A throw refuses the delivery: RxJS would report it later, and the delivery would stay unsettled. */
  next(delivery: Delivery): void {
    try {
      this.handOn(delivery);
    } catch (error) {
      delivery.refuse(error);
    }
  }

  /** Ends this junction, and nothing else that leads to the same places. */
  error(error: unknown): void {
    this.logger.error({ err: error }, "a stream ended with an error");
    this.complete();
  }

  complete(): void {
    this.isComplete = true;
    completeAll(this.branches);
  }

  private handOn(delivery: Delivery): void {
    const chosen = this.choose(delivery);
    if (chosen === undefined) return this.offer(delivery, this.branches);
    const unrouted = delivery.to(undefined); // the choice must not affect the next connector
    if (chosen.size === 0) return unrouted.accept();
    const branches = this.branches.filter(({ key }) => chosen.has(key));
    this.offer(unrouted, branches);
  }

  private offer(delivery: Delivery, branches: readonly Branch[]): void {
    if (branches.length === 1) return giveTo(branches[0]!, delivery);
    if (branches.length === 0) return delivery.refuse(shutdownRefusal());
    const takenBefore = this.memory.take(delivery);
    const observed = delivery.observe((outcome) => {
      if (outcome.ok || outcome.refusal.kind === "permanent") return;
      const taken = takenOf(branches, parts);
      if (taken.size > 0) this.memory.remember(delivery, taken);
    });
    const parts = observed.copies(branches.length);
    for (const [i, branch] of branches.entries()) {
      const before = takenBefore?.get(branch.key);
      if (before === undefined) giveTo(branch, parts[i]!);
      else parts[i]!.debt.settle(before);
    }
  }
}

/** A branch may have ended while another one got its part. */
function giveTo({ out }: Branch, delivery: Delivery): void {
  if (out.closed) delivery.refuse(shutdownRefusal());
  else out.next(delivery);
}

function completeAll(branches: readonly Branch[]): void {
  for (const { out } of branches) out.complete();
}

function takenOf(branches: readonly Branch[], parts: readonly Delivery[]): Map<string, Outcome> {
  const taken = new Map<string, Outcome>();
  for (const [i, { debt }] of parts.entries()) {
    if (debt.outcome !== undefined && isTaken(debt.outcome)) taken.set(branches[i]!.key, debt.outcome);
  }
  return taken;
}

/**
 * A dead letter counts as accepted, because the queue has it: only a sender that waits for the queue's result gets that
 * refusal.
 */
function isTaken(outcome: Outcome): boolean {
  return outcome.ok || outcome.refusal.code === ERROR_CODES.SLUICE_DEAD_LETTERED;
}
