import process from "node:process";

const toDo = new Set<() => void>();
const doAll = () => {
  for (const work of toDo) work();
};

/** Runs `work` when the process exits, until the function that is returned is called. One listener for all. */
export function whenProcessExits(work: () => void): () => void {
  if (toDo.size === 0) process.on("exit", doAll);
  toDo.add(work);
  return () => {
    toDo.delete(work);
    if (toDo.size === 0) process.off("exit", doAll);
  };
}
