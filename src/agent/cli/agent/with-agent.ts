import type { IncomingMessage } from "node:http";
import { AdminError } from "#contract/operations";
import type { CommandContext } from "../command.js";
import { agentAddress, findAgent } from "./find-agent.js";
import { reportFailure } from "./report.js";
import { requestJson, sendRequest } from "./send-request.js";

/** The API of a running agent. Paths are below its root. */
export interface AgentApi {
  readonly origin: string;
  get<T>(path: string): Promise<T>;
  post<T>(path: string, json: unknown): Promise<T>;
  delete<T>(path: string): Promise<T>;
  /**
   * For a response that does not end by itself, such as a stream of events; the caller must destroy it. Posts `json` if
   * it is given.
   */
  open(path: string, json?: unknown): Promise<IncomingMessage>;
}

/** Runs a command on a running agent, prints the error if it fails, and returns the exit code. */
export function withAgent(context: CommandContext, work: (api: AgentApi) => Promise<number>): Promise<number> {
  return reportFailure(context, async () => work(await connectToAgent(context)));
}

/** Finds the agent and its credentials. Call it again after the agent has restarted: the credentials change. */
export async function connectToAgent(context: CommandContext): Promise<AgentApi> {
  const address = await agentAddress(context);
  const { base } = address;
  const agent = await findAgent(address);
  if (agent === undefined) {
    const advice = "is it running, and does its config have the extension admin? Use --api URL for another address";
    throw new AdminError("unavailable", `no agent answers at ${base.origin}; ${advice}`);
  }
  const { access } = agent;
  const at = (path: string) => new URL(`api/v1${path}`, base);
  return {
    origin: base.origin,
    get: (path) => requestJson(at(path), { method: "GET" }, access),
    post: (path, json) => requestJson(at(path), { method: "POST", json }, access),
    delete: (path) => requestJson(at(path), { method: "DELETE" }, access),
    open: (path, json) => sendRequest(at(path), { method: json === undefined ? "GET" : "POST", json }, access),
  };
}
