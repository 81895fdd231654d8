import type { Command } from "../command.js";
import { WORKER_COMMAND } from "./assignment.js";

/** Not for people: the process that an agent with several workers starts for each of them. */
export const WORKER_CHILD: Command = {
  name: WORKER_COMMAND,
  summary: "Work for the agent that has started this process.",
  details: [],
  options: {},
  examples: [],
  load: async () => (await import("./worker-child.js")).workerChild,
};
