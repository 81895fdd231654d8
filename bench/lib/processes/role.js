import { fork } from "node:child_process";
import { once } from "node:events";

/**
 * The generator and the sink run in their own processes and are called over IPC: `call(name, argument)` on this side,
 * `serve({ name: (argument) => answer })` on theirs. A role ends with its parent.
 *
 * @typedef {{ call(name: string, argument?: unknown): Promise<any>, stop(): Promise<void>,
 *   isRunning(): boolean, pid: number }} Role
 */

/**
 * Any program can be a role if `execArgv` loads a module that calls `serve`. Its output goes to this process's output,
 * unless `output` is the number of an open file.
 *
 * @param {URL} file @param {{ args?: string[], execArgv?: string[], output?: number }} [options] @returns {Role}
 */
export function startRole(file, { args = [], execArgv = [], output } = {}) {
  const out = output ?? "inherit";
  const child = fork(file, args, { execArgv, serialization: "advanced", stdio: ["ignore", out, out, "ipc"] });
  /** @type {Map<number, { resolve: (answer: any) => void, reject: (error: Error) => void }>} */
  const waiting = new Map();
  let last = 0;
  const isRunning = () => child.exitCode === null && child.signalCode === null;
  child.on("message", (/** @type {any} */ { id, answer, error }) => {
    const call = waiting.get(id);
    waiting.delete(id);
    if (error === undefined) call?.resolve(answer);
    else call?.reject(new Error(error));
  });
  child.on("exit", (code) => {
    for (const call of waiting.values()) call.reject(new Error(`${file.pathname} ended with ${code}`));
    waiting.clear();
  });
  return {
    pid: /** @type {number} */ (child.pid),
    call: (name, argument) =>
      new Promise((resolve, reject) => {
        const id = ++last;
        waiting.set(id, { resolve, reject });
        child.send({ id, name, argument }, (error) => error && reject(error));
      }),
    isRunning,
    stop: async () => {
      if (!isRunning()) return;
      child.disconnect();
      await once(child, "exit");
    },
  };
}

/** @param {Record<string, (argument: any) => unknown>} answers */
export function serve(answers) {
  process.on("disconnect", () => process.exit(0));
  process.on("SIGINT", () => {}); // the parent decides when to stop
  process.on("message", async (/** @type {any} */ { id, name, argument }) => {
    try {
      process.send?.({ id, answer: await answers[name](argument) });
    } catch (error) {
      process.send?.({ id, error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
    }
  });
}
