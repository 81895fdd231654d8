import { z } from "zod";
import { type Admin, AdminError, type ExporterStatus } from "../../plugin.js";
import { readBody } from "./body.js";
import { parameters } from "./parameters.js";
import type { Asked, Route } from "./route.js";

const nothing = z.strictObject({});
const breaker = z.strictObject({ state: z.enum(["open", "closed", "auto"]) });
const replayRate = z.strictObject({ rate: z.number() });

export const exporterRoutes: readonly Route[] = [
  {
    method: "GET",
    path: "/exporters",
    answer({ admin, query }) {
      parameters(query, []);
      return { body: { exporters: admin.exporters() } };
    },
  },
  { method: "GET", path: "/exporters/:id", answer: ({ admin, params }) => ({ body: statusOf(admin, params["id"]!) }) },
  change("pause", nothing, (admin, id) => admin.pause(id)),
  change("resume", nothing, (admin, id) => admin.resume(id)),
  change("retry", nothing, (admin, id) => admin.retryNow(id)),
  change("breaker", breaker, (admin, id, { state }) => admin.forceBreaker(id, state)),
  change("replay-rate", replayRate, (admin, id, { rate }) => admin.setReplayRate(id, rate)),
];

/** Changes an exporter and answers with how it is then. */
function change<T>(name: string, schema: z.ZodType<T>, apply: (admin: Admin, id: string, wanted: T) => void): Route {
  return {
    method: "POST",
    path: `/exporters/:id/${name}`,
    async answer({ admin, params, request }: Asked) {
      const wanted = await readBody(request, schema);
      apply(admin, params["id"]!, wanted);
      return { body: statusOf(admin, params["id"]!) };
    },
  };
}

function statusOf(admin: Admin, id: string): ExporterStatus {
  const status = admin.exporters().find((each) => each.id === id);
  if (status === undefined) throw new AdminError("not_found", `there is no exporter ${JSON.stringify(id)}`);
  return status;
}
