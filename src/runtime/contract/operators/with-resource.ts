import { defer, finalize } from "rxjs";
import type { Processor } from "../component.js";
import { holdingOf, markHolding } from "./holding.js";

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
