/** Where a command writes, and what it may know of the outside. Passed in, so that commands can be tested. */
export interface Terminal {
  readonly out: Output;
  readonly err: Output;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Asks the person at the terminal for a line; undefined when nobody is there to answer. */
  readonly ask?: ((question: string) => Promise<string>) | undefined;
}

export interface Output {
  write(text: string): void;
  readonly isTerminal: boolean;
  /** Colour is for a person at a terminal who did not set NO_COLOR. */
  readonly colour: boolean;
  /** Width of the terminal; undefined when it is none. */
  readonly columns?: number | undefined;
  /** Resolves when there is room for more; false when the reader has gone away. */
  readonly drained?: () => Promise<boolean>;
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

/**
 * The process's own streams. That one cannot be written to (a closed terminal, a full disk) is no reason to crash, least of
 * all for an agent, which would try to log that. `onLost` is told when output is lost; not that a reader went away, as in
 * `sluice components | head`.
 */
export function processTerminal(process: NodeJS.Process, onLost: (error: Error) => void): Terminal {
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});
  return {
    out: outputOf(process.stdout, process.env, onLost),
    err: outputOf(process.stderr, process.env),
    env: process.env,
    ask: process.stdin.isTTY && process.stderr.isTTY ? (question) => askPerson(question, process) : undefined,
  };
}

async function askPerson(question: string, { stdin, stderr }: NodeJS.Process): Promise<string> {
  const { createInterface } = await import("node:readline/promises");
  const lines = createInterface({ input: stdin, output: stderr });
  try {
    return await lines.question(question);
  } finally {
    lines.close();
  }
}

function outputOf(stream: NodeJS.WriteStream, env: NodeJS.ProcessEnv, onLost?: (error: Error) => void): Output {
  const isTerminal = stream.isTTY === true;
  const written = (error?: NodeJS.ErrnoException | null) => {
    if (error && error.code !== "EPIPE") onLost?.(error);
  };
  return {
    write: (text) => void stream.write(text, written),
    isTerminal,
    colour: isTerminal && !env["NO_COLOR"] && env["TERM"] !== "dumb",
    columns: isTerminal ? stream.columns : undefined,
    drained: () => drained(stream),
  };
}

function drained(stream: NodeJS.WriteStream): Promise<boolean> {
  if (stream.destroyed || stream.errored) return Promise.resolve(false);
  if (!stream.writableNeedDrain) return Promise.resolve(true);
  return new Promise((resolve) => {
    const end = () => {
      for (const event of ["drain", "close", "error"]) stream.off(event, end);
      resolve(!stream.destroyed && !stream.errored);
    };
    for (const event of ["drain", "close", "error"]) stream.on(event, end);
  });
}
