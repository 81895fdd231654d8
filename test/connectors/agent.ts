import type { Admin } from "../../src/runtime/contract/operations/admin.js";
import type { AgentOptions } from "../../src/runtime/host/agent-options.js";
import { type FedAgent, startFed as start } from "../support/fed-agent.js";

export { cleanUp } from "../support/fed-agent.js";

/** An agent that the test feeds. The text contains all sections except receivers and extensions. */
export async function startFed(
  yaml: string,
  options: Partial<AgentOptions> = {},
): Promise<FedAgent & { readonly admin: Admin }> {
  const fed = await start(
    (directory) => `extensions: {reliability: {directory: ${JSON.stringify(directory)}}}\n${yaml}`,
    options,
  );
  return { ...fed, admin: fed.agent.admin! };
}
