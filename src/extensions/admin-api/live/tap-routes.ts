import { isOttlSyntaxError, parseRecordCondition } from "../../../runtime/kit.js";
import { badRequest } from "../http-error.js";
import { readParameters } from "../parameters.js";
import type { ApiRoute, RouteRequest } from "../route.js";
import { tapEvents } from "./tap.js";
import { edgesAt } from "./tap-places.js";

const DEFAULT_RATE = 10;
const MAX_RATE = 1000;
const DEFAULT_LIMIT = 1000;
const MAX_LIMIT = 1_000_000;

/** Records as they pass. Also masked, they are what only those may see who may see what is in dead letters. */
export const tapRoutes: readonly ApiRoute[] = [
  { method: "GET", path: "/tap", role: "reveal", needs: "components", answer: tap },
];

async function tap({ host, inspection, clock, tapBudget: budget, query }: RouteRequest) {
  const { at, where, rate, limit } = readParameters(query, ["at", "where", "rate", "limit"]);
  if (at === undefined) throw badRequest("say where: at=ID of a node, an edge or a pipeline");
  const settings = {
    edges: edgesAt(at, inspection),
    where: where === undefined ? undefined : readCondition(where),
    rate: readCount("rate", rate, DEFAULT_RATE, MAX_RATE),
    limit: readCount("limit", limit, DEFAULT_LIMIT, MAX_LIMIT),
  };
  const mask = await host.loadMask?.();
  if (mask === undefined) throw badRequest("nothing can be shown here, for it cannot be masked");
  return { events: tapEvents(settings, { inspection, clock, budget, mask }), counted: "records" };
}

function readCondition(text: string) {
  const condition = parseRecordCondition(text);
  if (!isOttlSyntaxError(condition)) return condition;
  const { reason, suggestion, offset } = condition;
  throw badRequest(`where: ${reason}${suggestion === undefined ? "" : `; ${suggestion}`} (at character ${offset + 1})`);
}

function readCount(name: string, text: string | undefined, byDefault: number, max: number): number {
  if (text === undefined) return byDefault;
  const value = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  if (value >= 1 && value <= max) return value;
  throw badRequest(`${name} must be a number from 1 to ${max}`);
}
