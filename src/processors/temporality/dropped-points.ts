import { limitedLog, type ProcessorContext } from "../../plugin.js";

/** Counts dropped points, and logs those that were dropped for lack of room. */
export function droppedPoints(
  name: string,
  { clock, metrics, logger, id }: Pick<ProcessorContext, "clock" | "metrics" | "logger" | "id">,
): (reason: string) => void {
  const counter = (reason: string) =>
    metrics.counter(
      `otelcol_${name}_datapoints_dropped`,
      { description: "Points that were dropped." },
      { processor: id, reason },
    );
  const counters = new Map<string, ReturnType<typeof counter>>();
  const logFull = limitedLog<undefined>(clock, (_, suppressed) =>
    logger.warn({ suppressed }, "the limit of series is reached (max_series): points of further series are dropped"),
  );
  return (reason) => {
    if (!counters.has(reason)) counters.set(reason, counter(reason));
    counters.get(reason)!.add(1);
    if (reason === "max_series") logFull(undefined);
  };
}
