import { defer, finalize } from "rxjs";
import type { Processor } from "../component.js";

/**
 * How a processor treats deliveries that it does not hand on at once: it settles every one in any case, or holds them
 * on purpose. For processors written by other means this is not known.
 */
type Holding = "settles_all" | "on_purpose";

const HOLDING = Symbol.for("sluice.holding");

export function markHolding(processor: Processor, holding: Holding): Processor {
  return Object.assign(processor, { [HOLDING]: holding });
}

/** Stored under a global symbol, so that processors of another copy of the package are recognised too. */
export function holdingOf(processor: Processor): Holding | undefined {
  return (processor as { [HOLDING]?: Holding })[HOLDING];
}

/** Returns the same processor with a resource that is started and stopped with its stream. */
export function withResource(processor: Processor, resource: { start(): void; stop(): void } | undefined): Processor {
  if (resource === undefined) return processor;
  const holding = holdingOf(processor);
  const wrapped: Processor = (source) =>
    defer(() => {
      resource.start();
      return processor(source).pipe(finalize(() => resource.stop()));
    });
  return holding === undefined ? wrapped : markHolding(wrapped, holding);
}
