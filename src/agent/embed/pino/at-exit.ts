import process from "node:process";

const exitHandlers = new Set<() => void>();
const runExitHandlers = () => {
  for (const work of exitHandlers) work();
};

/** Runs `work` when the process exits. Returns a function that cancels this. All callers share one listener. */
export function onProcessExit(work: () => void): () => void {
  if (exitHandlers.size === 0) process.on("exit", runExitHandlers);
  exitHandlers.add(work);
  return () => {
    exitHandlers.delete(work);
    if (exitHandlers.size === 0) process.off("exit", runExitHandlers);
  };
}
