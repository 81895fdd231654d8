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

/** The process's own streams. A reader that went away (`sluice components | head`) is no reason to crash. */
export function processTerminal(process: NodeJS.Process): Terminal {
  for (const stream of [process.stdout, process.stderr]) stream.on("error", ignoreGoneReader);
  return {
    out: outputOf(process.stdout, process.env),
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

function outputOf(stream: NodeJS.WriteStream, env: NodeJS.ProcessEnv): Output {
  const isTerminal = stream.isTTY === true;
  return {
    write: (text) => void stream.write(text),
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

function ignoreGoneReader(error: NodeJS.ErrnoException): void {
  if (error.code !== "EPIPE") throw error;
}
