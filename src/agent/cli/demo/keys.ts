import process from "node:process";

/** Keyboard input while the demo runs. */
export interface Keys {
  /** True when stdin is a terminal. */
  readonly isInteractive: boolean;
  /** Aborted by q, Ctrl-C and signals. */
  readonly ended: AbortSignal;
  /** Whether Enter was pressed since the last call. */
  takeEnter(): boolean;
  close(): void;
}

const SIGNALS_TO_END = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
const CTRL_C = "\u0003";

/** Handles the first signal only: a second one ends the process at once. */
export function listenForKeys(isWanted: boolean): Keys {
  const { stdin } = process;
  const isInteractive = isWanted && stdin.isTTY === true;
  const abort = new AbortController();
  let isEnter = false;
  const end = () => {
    abort.abort();
    for (const signal of SIGNALS_TO_END) process.off(signal, end);
  };
  const onData = (data: Buffer | string) => {
    const key = String(data);
    if (key === CTRL_C || key === "q" || key === "Q") end();
    if (key.includes("\r") || key.includes("\n")) isEnter = true;
  };
  for (const signal of SIGNALS_TO_END) process.on(signal, end);
  if (isInteractive) stdin.setRawMode(true).resume().on("data", onData);
  return {
    isInteractive,
    ended: abort.signal,
    takeEnter() {
      const was = isEnter;
      isEnter = false;
      return was;
    },
    close() {
      for (const signal of SIGNALS_TO_END) process.off(signal, end);
      if (isInteractive) stdin.off("data", onData).setRawMode(false).pause();
    },
  };
}
