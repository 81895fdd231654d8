import process from "node:process";

const exitHandlers = new Set<() => void>();
const runExitHandlers = () => {
  for (const work of exitHandlers) work();
};

/** Runs `work` when the process exits, until the function that is returned is called. One listener for all. */
export function onProcessExit(work: () => void): () => void {
  if (exitHandlers.size === 0) process.on("exit", runExitHandlers);
  exitHandlers.add(work);
  return () => {
    exitHandlers.delete(work);
    if (exitHandlers.size === 0) process.off("exit", runExitHandlers);
  };
}
