import { AdminError } from "#contract/operations";
import { badRequest } from "../http-error.js";
import { type ApiRoute, view } from "../route.js";
import { overviewOf } from "./overview.js";

/** Routes for the present and recent flow of data through the agent. */
export const liveRoutes: readonly ApiRoute[] = [
  view("GET /live", { needs: "components", query: [] }, ({ samples }) => ({
    events: (stream) => samples.sendTo(stream),
  })),
  view("GET /overview", { needs: "nothing", query: [] }, async ({ host, alerts }) => {
    await host.refresh?.();
    return { body: overviewOf(host, alerts.check()) };
  }),
  view("GET /history", { needs: "components", query: ["node"] }, ({ history, values: { node } }) => {
    if (node === undefined) throw badRequest("name a node: node=ID, as in /graph, or node=agent for the whole agent");
    const found = history.of(node);
    if (found === undefined) throw new AdminError("not_found", `there is no node ${JSON.stringify(node)}`);
    return { body: found };
  }),
];
