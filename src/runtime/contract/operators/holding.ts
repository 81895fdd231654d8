import type { Processor } from "../component.js";

/**
 * What is known of how a processor deals with deliveries it does not hand on at once: it settles every one in any case, or
 * it holds them on purpose. Of one that was written with other means nothing is known.
 */
export type Holding = "settles_all" | "on_purpose";

const HOLDING = Symbol.for("sluice.holding");

export function markHolding(processor: Processor, holding: Holding): Processor {
  return Object.assign(processor, { [HOLDING]: holding });
}

/** Told by a mark, so that a processor made by another copy of the package counts too. */
export function holdingOf(processor: Processor): Holding | undefined {
  return (processor as { [HOLDING]?: Holding })[HOLDING];
}
