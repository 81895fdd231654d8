import { AdminError } from "../../../runtime/kit.js";
import type { EventSource } from "../events.js";
import { badRequest } from "../http-error.js";
import { readParameters } from "../parameters.js";
import type { ApiRoute, RouteRequest } from "../route.js";
import { RateMeter } from "./live-rates.js";

const SAMPLE_MS = 1000;

/** What passes through the agent, now and during the last minutes. */
export const liveRoutes: readonly ApiRoute[] = [
  {
    method: "GET",
    path: "/live",
    role: "view",
    needs: "components",
    answer({ host, clock, query }) {
      readParameters(query, []);
      return { events: samples(host, clock) };
    },
  },
  {
    method: "GET",
    path: "/history",
    role: "view",
    needs: "components",
    answer({ history, query }) {
      const { node } = readParameters(query, ["node"]);
      if (node === undefined) throw badRequest("say of which node: node=ID, of /graph");
      const found = history.of(node);
      if (found === undefined) throw new AdminError("not_found", `there is no node ${JSON.stringify(node)}`);
      return { body: found };
    },
  },
];

/** A sample each second, of that second. */
function samples(host: RouteRequest["host"], clock: RouteRequest["clock"]): EventSource {
  return (stream) => {
    const meter = new RateMeter(host, clock);
    const next = () => {
      const sample = meter.next();
      if (sample !== undefined) stream.send("sample", sample);
      cancel = clock.after(SAMPLE_MS, next);
    };
    let cancel = clock.after(SAMPLE_MS, next);
    return () => cancel();
  };
}
