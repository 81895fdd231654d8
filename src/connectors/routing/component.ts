import { concatMap } from "rxjs";
import { errorHandler } from "#ottl";
import { type Delivery, defineConnector, SIGNALS } from "../../plugin.js";
import { namedPipelines, type RoutingConfig, routingSchema } from "./config.js";
import { Router } from "./router.js";

/**
 * Sends each record to the pipelines of the first route that matches it. Records that take different routes share the
 * debt of their batch: the sender is answered when all of them have been accepted. A batch that takes one route as a
 * whole is passed on unchanged. Records that match no route and have no default pipeline are dropped intentionally:
 * acknowledged and counted.
 */
export const routing = defineConnector<RoutingConfig>({
  type: "routing",
  summary: "Sends telemetry to different pipelines by OTTL conditions.",
  routes: SIGNALS.map((signal) => ({ from: signal, to: signal })),
  zone: "routing",
  schema: routingSchema,
  namedPipelines,
  create(config, context) {
    const { id, from, metrics } = context;
    const dropped = metrics.counter(
      "sluice_routing_dropped_items",
      { description: "Records dropped because no route matched and there are no default pipelines." },
      { connector: id, otel_signal: from },
    );
    const router = new Router(config, context, errorHandler(config.mode, context));
    const route = (delivery: Delivery): Delivery[] => {
      try {
        const sorted = router.route(delivery.batch, delivery.origin);
        if (sorted.dropped > 0) dropped.add(sorted.dropped);
        return outputs(delivery, sorted);
      } catch (error) {
        delivery.refuse(error);
        return [];
      }
    };
    return (source) => source.pipe(concatMap(route));
  },
});

/** All copies must be accepted; a moved record is in only one of its parts. */
function outputs(delivery: Delivery, { copied, moved }: ReturnType<Router["route"]>): Delivery[] {
  const branches = delivery.copies(copied.length + (moved.length > 0 ? 1 : 0));
  const rest = moved.length > 0 ? branches.at(-1)!.split(moved.map(({ batch }) => batch)) : [];
  return [
    ...copied.map(({ batch, pipelines }, i) => branches[i]!.with(batch).to(pipelines)),
    ...moved.map(({ pipelines }, i) => rest[i]!.to(pipelines)),
  ];
}
