import type { IncomingMessage } from "node:http";
import type { Admin, AgentInspection } from "#contract/operations";
import type { Clock, Host } from "../../plugin.js";
import type { ConsoleFile } from "./console/console-files.js";
import type { EventSource } from "./events.js";
import type { History } from "./live/history.js";
import type { LiveSamples } from "./live/live-samples.js";
import type { TapBudget } from "./live/tap.js";
import type { Actor, AdminRole } from "./roles.js";

/** What a route is asked. */
export interface RouteRequest {
  readonly admin: Admin;
  readonly host: Host;
  readonly clock: Clock;
  readonly inspection: AgentInspection;
  readonly history: History;
  readonly samples: LiveSamples;
  readonly tapBudget: TapBudget;
  /** Where the console finds a trace. */
  readonly traceUrl: string | undefined;
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  readonly request: IncomingMessage;
  readonly actor: Actor;
}

/**
 * `body` is sent as JSON, `json` is JSON already, `lines` are sent one by one as the client takes them, `file` as it is, and
 * `events` for as long as it stays; `counted` is what a reader of these is told it has lost.
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
  /** Below the root of the API; `:name` stands for one segment. */
  readonly path: string;
  /** Content type of its body; JSON unless it says otherwise. */
  readonly contentType?: string;
  /**
   * What must be there for it to be asked: the queues (`admin`) unless it says otherwise, or the components (`inspection`).
   * The other may be undefined then, whatever its type says.
   */
  readonly needs?: "queues" | "components" | "nothing";
  /** What whoever asks must have. */
  readonly role: AdminRole;
  answer(request: RouteRequest): RouteAnswer | Promise<RouteAnswer>;
}
