import type { IncomingMessage } from "node:http";
import type { AdminRole } from "#contract/api";
import type { Admin, AgentInspection, TapBudget } from "#contract/operations";
import type { OttlTrials } from "#ottl";
import type { Clock, Host } from "../../plugin.js";
import type { OtherAgents } from "./agents/other-agents.js";
import type { ConsoleFile } from "./console/console-files.js";
import type { EventSource } from "./events.js";
import type { Alerts } from "./live/alerts.js";
import type { History } from "./live/history.js";
import type { LiveSamples } from "./live/live-samples.js";
import type { Actor } from "./roles.js";

export interface RouteRequest {
  readonly admin: Admin;
  readonly host: Host;
  readonly clock: Clock;
  readonly inspection: AgentInspection;
  readonly agents: OtherAgents;
  readonly alerts: Alerts;
  readonly history: History;
  readonly samples: LiveSamples;
  readonly tapBudget: TapBudget;
  readonly sampleBudget: TapBudget;
  readonly trials: OttlTrials;
  /** Template of the links from the console to a trace. */
  readonly traceUrl: string | undefined;
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  readonly request: IncomingMessage;
  readonly actor: Actor;
}

/**
 * `body` is sent as JSON, `json` is already JSON, `lines` are sent one by one as fast as the client reads, `file` is
 * sent unchanged, and `events` are sent until the client leaves. `counted` is the name of lost items.
 */
export type RouteAnswer = { readonly status?: number } & (
  | { readonly body: unknown }
  | { readonly json: string }
  | { readonly lines: AsyncIterable<string> }
  | { readonly events: EventSource; readonly counted?: string }
  | { readonly file: ConsoleFile }
);

export interface ApiRoute {
  readonly method: "GET" | "POST" | "DELETE";
  /** Path below the root of the API; `:name` stands for one segment. */
  readonly path: string;
  /** Content type of the request body; JSON by default. */
  readonly contentType?: string;
  /**
   * The service that must exist before the route can be used: the queues (`admin`) by default, or the components (`inspection`).
   * The other one may then be undefined, whatever its type says.
   */
  readonly needs?: "queues" | "components" | "nothing";
  /** The role that the caller must have; undefined if every caller that is known may use the route. */
  readonly role: AdminRole | undefined;
  answer(request: RouteRequest): RouteAnswer | Promise<RouteAnswer>;
}
