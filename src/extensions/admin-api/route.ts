import type { IncomingMessage } from "node:http";
import type { z } from "zod";
import type { AdminRole, Answers } from "#contract/api";
import type { BuiltInHost } from "#contract/built-in";
import type { Admin, AgentInspection, Operator, TapBudget } from "#contract/operations";
import type { OttlTrials } from "#ottl";
import type { Clock } from "../../plugin.js";
import type { OtherAgents } from "./agents/other-agents.js";
import type { ConsoleFile } from "./console/console-files.js";
import type { EventSource } from "./events.js";
import type { Alerts } from "./live/alerts.js";
import type { History } from "./live/history.js";
import type { LiveSamples } from "./live/live-samples.js";
import type { Actor, OperatorInput } from "./operator.js";

/** The parts of the server that all routes use. */
export interface RouteServices {
  readonly host: BuiltInHost;
  readonly clock: Clock;
  readonly agents: OtherAgents;
  readonly alerts: Alerts;
  readonly history: History;
  readonly samples: LiveSamples;
  readonly tapBudget: TapBudget;
  readonly sampleBudget: TapBudget;
  readonly trials: OttlTrials;
  /** Template of the links from the console to a trace. */
  readonly traceUrl: string | undefined;
}

export interface RouteRequest<Body = unknown> extends RouteServices {
  readonly admin: Admin;
  readonly inspection: AgentInspection;
  /** The segment `:id` of the path. */
  readonly id: string;
  /** The parameters, if the route names them. */
  readonly values: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  readonly request: IncomingMessage;
  readonly actor: Actor;
  /** Reads and checks the body. */
  body(): Promise<Body>;
  /** The caller, as the audit names them. */
  operator(given?: OperatorInput): Operator;
  /** The admin interface that records what it does under the caller's name. */
  acting(given?: OperatorInput): Admin;
}

/**
 * `body` is sent as JSON, `json` is already JSON, `lines` are sent one by one as fast as the client reads, `file` is
 * sent unchanged, and `events` are sent until the client leaves. `counted` is the name of lost items.
 */
export type RouteAnswer<Body = unknown> = { readonly status?: number } & (
  | { readonly body: Body }
  | { readonly json: string }
  | { readonly lines: AsyncIterable<string> }
  | { readonly events: EventSource; readonly counted?: string }
  | { readonly file: ConsoleFile }
);

interface RouteSettings<Body> {
  /**
   * The service that must exist before the route can be used: the queues (`admin`) by default, or the components (`inspection`).
   * The other one may then be undefined, whatever its type says.
   */
  readonly needs?: "queues" | "components" | "nothing";
  /** The parameters that the route takes. Without this they are not checked. */
  readonly query?: readonly string[];
  /** The body that `body()` reads. */
  readonly takes?: z.ZodType<Body>;
  readonly maxBytes?: number;
  /** Content type of the request body; JSON by default. */
  readonly contentType?: string;
}

export interface ApiRoute extends RouteSettings<unknown> {
  readonly method: "GET" | "POST" | "DELETE";
  /** Path below the root of the API; `:name` stands for one segment. */
  readonly path: string;
  /** The role that the caller must have; undefined if every caller that is known may use the route. */
  readonly role: AdminRole | undefined;
  answer(request: RouteRequest): RouteAnswer | Promise<RouteAnswer>;
}

/** Where a route is, and who may use it: a row of `OPERATIONS`, or one like it. */
export interface RoutePlace<At extends keyof Answers> {
  readonly at: At;
  readonly role?: AdminRole;
}

export function route<At extends keyof Answers, Body>(
  { at, role }: RoutePlace<At>,
  settings: RouteSettings<Body>,
  answer: (request: RouteRequest<Body>) => RouteAnswer<Answers[At]> | Promise<RouteAnswer<Answers[At]>>,
): ApiRoute {
  const [method, path] = at.split(" ") as [ApiRoute["method"], string];
  return { ...settings, method, path, role, answer: answer as ApiRoute["answer"] };
}

/** A route that every caller with the role `view` may use. */
export function view<At extends keyof Answers & `GET ${string}`>(
  at: At,
  settings: Omit<RouteSettings<never>, "takes">,
  answer: (request: RouteRequest) => RouteAnswer<Answers[At]> | Promise<RouteAnswer<Answers[At]>>,
): ApiRoute {
  return route({ at, role: "view" }, settings, answer);
}
