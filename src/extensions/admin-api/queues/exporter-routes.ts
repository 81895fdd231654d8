import { z } from "zod";
import { type Admin, AdminError, type ExporterStatus } from "#contract/operations";
import { readBody } from "../body.js";
import { type OperatorInput, operatorFields, operatorOf } from "../operator.js";
import { readParameters } from "../parameters.js";
import type { ApiRoute, RouteRequest } from "../route.js";

const emptyBody = z.strictObject(operatorFields);
const breakerBody = z.strictObject({ ...operatorFields, state: z.enum(["open", "closed", "auto"]) });
const replayRateBody = z.strictObject({ ...operatorFields, rate: z.number() });

export const exporterRoutes: readonly ApiRoute[] = [
  {
    method: "GET",
    path: "/exporters",
    role: "view",
    async answer({ admin, host, query }) {
      readParameters(query, []);
      await host.refresh?.();
      return { body: { exporters: admin.exporters() } };
    },
  },
  {
    method: "GET",
    path: "/exporters/:id",
    role: "view",
    async answer({ admin, host, params }) {
      await host.refresh?.();
      return { body: findStatus(admin, params["id"]!) };
    },
  },
  changeRoute("pause", emptyBody, (admin, id) => admin.pause(id)),
  changeRoute("resume", emptyBody, (admin, id) => admin.resume(id)),
  changeRoute("retry", emptyBody, (admin, id) => admin.retryNow(id)),
  changeRoute("breaker", breakerBody, (admin, id, { state }) => admin.forceBreaker(id, state)),
  changeRoute("replay-rate", replayRateBody, (admin, id, { rate }) => admin.setReplayRate(id, rate)),
];

/** Changes an exporter, and answers with its new state. */
function changeRoute<T extends OperatorInput>(
  name: string,
  schema: z.ZodType<T>,
  apply: (admin: Admin, id: string, body: T) => void | Promise<void>,
): ApiRoute {
  return {
    method: "POST",
    path: `/exporters/:id/${name}`,
    role: "configure",
    async answer({ admin, host, params, request, actor }: RouteRequest) {
      const wanted = await readBody(request, schema);
      await apply(admin.actingAs(operatorOf(request, wanted, actor)), params["id"]!, wanted);
      await host.refresh?.();
      return { body: findStatus(admin, params["id"]!) };
    },
  };
}

function findStatus(admin: Admin, id: string): ExporterStatus {
  const status = admin.exporters().find((each) => each.id === id);
  if (status === undefined) throw new AdminError("not_found", `there is no exporter ${JSON.stringify(id)}`);
  return status;
}
