import { AdminError } from "#contract/operations";
import { badRequest } from "../http-error.js";
import { readParameters } from "../parameters.js";
import type { ApiRoute } from "../route.js";
import { overviewOf } from "./overview.js";

/** Routes for the present and recent flow of data through the agent. */
export const liveRoutes: readonly ApiRoute[] = [
  {
    method: "GET",
    path: "/live",
    role: "view",
    needs: "components",
    answer({ samples, query }) {
      readParameters(query, []);
      return { events: (stream) => samples.sendTo(stream) };
    },
  },
  {
    method: "GET",
    path: "/overview",
    role: "view",
    needs: "nothing",
    async answer({ host, alerts, query }) {
      readParameters(query, []);
      await host.refresh?.();
      return { body: overviewOf(host, alerts.check()) };
    },
  },
  {
    method: "GET",
    path: "/history",
    role: "view",
    needs: "components",
    answer({ history, query }) {
      const { node } = readParameters(query, ["node"]);
      if (node === undefined) throw badRequest("name a node: node=ID, as in /graph, or node=agent for the whole agent");
      const found = history.of(node);
      if (found === undefined) throw new AdminError("not_found", `there is no node ${JSON.stringify(node)}`);
      return { body: found };
    },
  },
];
