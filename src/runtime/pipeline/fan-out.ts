import type { Delivery, Outcome } from "#contract";
import { ERROR_CODES } from "#contract/errors";
import type { PartialAcceptance } from "./partial-acceptance.js";
import type { Distribute, StageLink } from "./stages/stage.js";

/** Remembers by the keys of links which of them have accepted a delivery. */
type Memory = PartialAcceptance<string>;

/**
 * Gives each link the whole batch of every delivery and a part of its debt, so the sender waits for all of them. A link
 * that accepted the same delivery earlier, when another one refused it, is skipped.
 */
export function fanOut(memory: Memory): Distribute {
  return (delivery, links) => offer(delivery, links, memory);
}

/**
 * Gives a connector's deliveries to the pipelines that it chose, once each, or to all of them. An empty choice is a
 * deliberate drop. The choice is removed here, because it must not affect the next connector.
 */
export function routeToTargets(memory: Memory): Distribute {
  return (delivery, links) => {
    if (delivery.route === undefined) return offer(delivery, links, memory);
    const chosen = new Set(delivery.route);
    const byTarget = [...chosen].flatMap((id) => links.find(({ pipeline }) => pipeline === id) ?? []);
    offer(delivery.to(undefined), byTarget, memory);
  };
}

/** Also gives copies to the connector of a processor, and the sender waits for both. Setbacks are not copied. */
export function copyToConnector(memory: Memory): Distribute {
  return (delivery, links) => {
    const chosen = delivery.setback === undefined ? links : links.filter(({ isCopy }) => isCopy !== true);
    offer(delivery, chosen, memory);
  };
}

function offer(delivery: Delivery, links: readonly StageLink[], memory: Memory): void {
  if (links.length === 1) return links[0]!.next(delivery);
  if (links.length === 0) return delivery.accept();
  const takenBefore = memory.take(delivery);
  const observed = delivery.observe((outcome) => {
    if (outcome.ok || outcome.refusal.kind === "permanent") return;
    const taken = takenOf(links, parts);
    if (taken.size > 0) memory.remember(delivery, taken);
  });
  const parts = observed.copies(links.length);
  for (const [i, link] of links.entries()) {
    const before = takenBefore?.get(link.key);
    if (before === undefined) link.next(parts[i]!);
    else parts[i]!.debt.settle(before);
  }
}

function takenOf(links: readonly StageLink[], parts: readonly Delivery[]): Map<string, Outcome> {
  const taken = new Map<string, Outcome>();
  for (const [i, { debt }] of parts.entries()) {
    if (debt.outcome !== undefined && isTaken(debt.outcome)) taken.set(links[i]!.key, debt.outcome);
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
