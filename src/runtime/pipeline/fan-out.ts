import { ignoreElements, merge, share, tap } from "rxjs";
import type { Delivery, Outcome } from "#contract";
import { ERROR_CODES } from "#contract/errors";
import type { PartialAcceptance } from "./partial-acceptance.js";
import { type Deliveries, DeliverySource } from "./stream-ends.js";

type Memory = PartialAcceptance<DeliverySource>;

/**
 * Divides a stream into branches. Each branch gets the whole batch of every delivery and a part of its debt, so the
 * sender waits for all branches.
 */
export function fanOut(source: Deliveries, branches: number, memory: Memory): Deliveries[] {
  if (branches === 1) return [source];
  return divide(source, createSources(branches), (delivery, all) => offer(delivery, all, memory));
}

/**
 * Sends a connector's deliveries to the pipelines that it chose, once each, or to all of them. An empty choice is a
 * deliberate drop. The choice is removed here, because it must not affect the next connector.
 */
export function routeToTargets(
  source: Deliveries,
  targets: readonly string[],
  memory: Memory,
): ReadonlyMap<string, Deliveries> {
  const sources = createSources(targets.length);
  const byTarget = new Map(targets.map((id, i) => [id, sources[i]!]));
  const streams = divide(source, sources, (delivery, all) => {
    if (delivery.route === undefined) return offer(delivery, all, memory);
    const chosen = [...new Set(delivery.route)].flatMap((id) => byTarget.get(id) ?? []);
    offer(delivery.to(undefined), chosen, memory);
  });
  return new Map(targets.map((id, i) => [id, streams[i]!]));
}

/** Returns the stream and a copy of it; the sender waits for both. Deliveries with a setback are not copied. */
export function copyStream(
  source: Deliveries,
  memory: Memory,
): { readonly stream: Deliveries; readonly copy: Deliveries } {
  const [copies, rest] = createSources(2) as [DeliverySource, DeliverySource];
  const [copy, stream] = divide(source, [copies, rest], (delivery, both) =>
    delivery.setback === undefined ? offer(delivery, both, memory) : rest.next(delivery),
  ) as [Deliveries, Deliveries];
  return { stream, copy };
}

type Distribute = (delivery: Delivery, branches: readonly DeliverySource[]) => void;

/**
 * Subscribes to the source once for all branches, when the first of them is subscribed; `distribute` passes each
 * delivery to branches.
 */
function divide(source: Deliveries, branches: readonly DeliverySource[], distribute: Distribute): Deliveries[] {
  const feed = source.pipe(
    tap({
      next(delivery) {
        try {
          distribute(delivery, branches);
        } catch (error) {
          delivery.refuse(error); // an error would end the streams of all branches
        }
      },
      complete() {
        for (const branch of branches) branch.complete();
      },
    }),
    ignoreElements(),
    share(),
  );
  return branches.map(({ deliveries }) => merge(deliveries, feed));
}

/** Skips branches that accepted the same delivery earlier, when another branch refused it. */
function offer(delivery: Delivery, branches: readonly DeliverySource[], memory: Memory): void {
  if (branches.length < 2) {
    for (const copy of delivery.copies(branches.length)) branches[0]!.next(copy);
    return;
  }
  const takenBefore = memory.take(delivery);
  const observed = delivery.observe((outcome) => {
    if (outcome.ok || outcome.refusal.kind === "permanent") return;
    const taken = takenOf(branches, parts);
    if (taken.size > 0) memory.remember(delivery, taken);
  });
  const parts = observed.copies(branches.length);
  for (const [i, branch] of branches.entries()) {
    const before = takenBefore?.get(branch);
    if (before === undefined) branch.next(parts[i]!);
    else parts[i]!.debt.settle(before);
  }
}

function takenOf(branches: readonly DeliverySource[], parts: readonly Delivery[]): Map<DeliverySource, Outcome> {
  const taken = new Map<DeliverySource, Outcome>();
  for (const [i, { debt }] of parts.entries()) {
    if (debt.outcome !== undefined && isTaken(debt.outcome)) taken.set(branches[i]!, debt.outcome);
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

function createSources(count: number): DeliverySource[] {
  return Array.from({ length: count }, () => new DeliverySource());
}
