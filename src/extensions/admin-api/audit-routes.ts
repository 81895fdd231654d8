import { readNumber, readParameters, readTime } from "./parameters.js";
import type { ApiRoute } from "./route.js";

const AUDIT_FILTERS = ["since", "until", "actor", "action", "limit", "cursor"];

export const auditRoutes: readonly ApiRoute[] = [
  {
    method: "GET",
    path: "/audit",
    role: "view",
    async answer({ admin, query }) {
      const { since, until, limit, ...texts } = readParameters(query, AUDIT_FILTERS);
      const page = await admin.audit({
        ...texts,
        ...(since !== undefined && { since: readTime("since", since) }),
        ...(until !== undefined && { until: readTime("until", until) }),
        ...(limit !== undefined && { limit: readNumber("limit", limit) }),
      });
      return { body: page };
    },
  },
];
