import { OPERATIONS } from "#contract/api";
import { readNumber, readTime } from "./parameters.js";
import { type ApiRoute, route } from "./route.js";

const AUDIT_FILTERS = ["since", "until", "actor", "action", "limit", "cursor"];

export const auditRoutes: readonly ApiRoute[] = [
  route(OPERATIONS.audit, { query: AUDIT_FILTERS }, async ({ admin, values }) => {
    const { since, until, limit, ...texts } = values;
    const page = await admin.audit({
      ...texts,
      ...(since !== undefined && { since: readTime("since", since) }),
      ...(until !== undefined && { until: readTime("until", until) }),
      ...(limit !== undefined && { limit: readNumber("limit", limit) }),
    });
    return { body: page };
  }),
];
