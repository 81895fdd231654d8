import { z } from "zod";
import { OPERATIONS } from "#contract/api";
import { type Admin, AdminError, type ExporterStatus } from "#contract/operations";
import { type OperatorInput, operatorFields } from "../operator.js";
import { type ApiRoute, type RoutePlace, route, view } from "../route.js";

const emptyBody = z.strictObject(operatorFields);
const breakerBody = emptyBody.extend({ state: z.enum(["open", "closed", "auto"]) });
const replayRateBody = emptyBody.extend({ rate: z.number() });

export const exporterRoutes: readonly ApiRoute[] = [
  route(OPERATIONS.exporters, { query: [] }, async ({ admin, host }) => {
    await host.refresh?.();
    return { body: { exporters: admin.exporters() } };
  }),
  view("GET /exporters/:id", {}, async ({ admin, host, id }) => {
    await host.refresh?.();
    return { body: findStatus(admin, id) };
  }),
  changeRoute(OPERATIONS.pause, emptyBody, (admin, id) => admin.pause(id)),
  changeRoute(OPERATIONS.resume, emptyBody, (admin, id) => admin.resume(id)),
  changeRoute(OPERATIONS.retryNow, emptyBody, (admin, id) => admin.retryNow(id)),
  changeRoute(OPERATIONS.forceBreaker, breakerBody, (admin, id, { state }) => admin.forceBreaker(id, state)),
  changeRoute(OPERATIONS.setReplayRate, replayRateBody, (admin, id, { rate }) => admin.setReplayRate(id, rate)),
];

/** Changes an exporter, and answers with its new state. */
function changeRoute<T extends OperatorInput>(
  place: RoutePlace<`POST /exporters/:id/${"pause" | "resume" | "retry" | "breaker" | "replay-rate"}`>,
  takes: z.ZodType<T>,
  apply: (admin: Admin, id: string, body: T) => void | Promise<void>,
): ApiRoute {
  return route(place, { takes }, async ({ admin, host, id, body, acting }) => {
    const wanted = await body();
    await apply(acting(wanted), id, wanted);
    await host.refresh?.();
    return { body: findStatus(admin, id) };
  });
}

function findStatus(admin: Admin, id: string): ExporterStatus {
  const status = admin.exporters().find((each) => each.id === id);
  if (status === undefined) throw new AdminError("not_found", `there is no exporter ${JSON.stringify(id)}`);
  return status;
}
