import { defer, finalize } from "rxjs";
import type { Processor } from "../component.js";
import { holdingOf, markHolding } from "./holding.js";

/** The same processor with something beside it that lives as long as its stream. */
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
