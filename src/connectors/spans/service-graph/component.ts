import { defineBuiltInConnector } from "#contract/built-in";
import { aggregatingProcessor } from "../aggregating-processor.js";
import { type ServiceGraphConfig, serviceGraphSchema } from "./config.js";
import { GraphAggregation } from "./graph-aggregation.js";

/** Finds requests between services from the spans on both sides; see `GraphAggregation`. */
export const serviceGraph = defineBuiltInConnector<ServiceGraphConfig>({
  type: "service_graph",
  aliases: ["servicegraph"],
  summary: "Makes metrics about requests between services, from the spans of client and server.",
  routes: [{ from: "traces", to: "metrics" }],
  // It needs whole traces, and the series of two services have spans of many traces.
  workers: "one",
  schema: serviceGraphSchema,
  wantsJournal: ({ isDurable }) => isDurable,
  create(config, context) {
    const { flushIntervalMs } = config;
    return aggregatingProcessor(() => new GraphAggregation(config, context), { flushIntervalMs, context });
  },
});
