/** Where a command writes, and what it may know of the outside. Passed in, so that commands can be tested. */
export interface Terminal {
  readonly out: Output;
  readonly err: Output;
  readonly env: Readonly<Record<string, string | undefined>>;
}

export interface Output {
  write(text: string): void;
  readonly isTerminal: boolean;
  /** Colour is for a person at a terminal who did not set NO_COLOR. */
  readonly colour: boolean;
}

export const EXIT = {
  ok: 0,
  /** The config is bad, the agent could not start, or it was stopped before it had drained. */
  failed: 1,
  /** The command line is wrong. */
  usage: 2,
} as const;

/** The command line cannot be understood. Shown with a pointer to the help; exit code 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
  readonly suggestion: string | undefined;

  constructor(message: string, suggestion?: string) {
    super(message);
    this.suggestion = suggestion;
  }
}

/** The process's own streams. A reader that went away (`sluice components | head`) is no reason to crash. */
export function processTerminal(process: NodeJS.Process): Terminal {
  for (const stream of [process.stdout, process.stderr]) stream.on("error", ignoreGoneReader);
  return {
    out: outputOf(process.stdout, process.env),
    err: outputOf(process.stderr, process.env),
    env: process.env,
  };
}

function outputOf(stream: NodeJS.WriteStream, env: NodeJS.ProcessEnv): Output {
  const isTerminal = stream.isTTY === true;
  return {
    write: (text) => void stream.write(text),
    isTerminal,
    colour: isTerminal && !env["NO_COLOR"] && env["TERM"] !== "dumb",
  };
}

function ignoreGoneReader(error: NodeJS.ErrnoException): void {
  if (error.code !== "EPIPE") throw error;
}
