import type { IncomingMessage } from "node:http";
import type { Admin } from "../../runtime/kit.js";
import type { ReplayJobs } from "./replay-jobs.js";

/** What a route is asked. */
export interface RouteRequest {
  readonly admin: Admin;
  readonly jobs: ReplayJobs;
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  readonly request: IncomingMessage;
}

/** `body` is sent as JSON, `json` is JSON already, `lines` are sent one by one as the client takes them. */
export type RouteAnswer = { readonly status?: number } & (
  | { readonly body: unknown }
  | { readonly json: string }
  | { readonly lines: AsyncIterable<string> }
);

export interface ApiRoute {
  readonly method: "GET" | "POST" | "DELETE";
  /** Below the root of the API; `:name` stands for one segment. */
  readonly path: string;
  /** Content type of its body; JSON unless it says otherwise. */
  readonly contentType?: string;
  answer(request: RouteRequest): RouteAnswer | Promise<RouteAnswer>;
}
