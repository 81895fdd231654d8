/** A command's output, and what it may know of its environment. Passed in, so that commands can be tested. */
export interface Terminal {
  readonly out: Output;
  readonly err: Output;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Asks the user for a line; undefined when there is no terminal. Rejects with a `UnansweredError` if they end it. */
  readonly ask?: ((question: string) => Promise<string>) | undefined;
}

export interface Output {
  write(text: string): void;
  readonly isTerminal: boolean;
  /** True on a terminal, unless NO_COLOR is set. */
  readonly colour: boolean;
  /** Width of the terminal; undefined when the output is not a terminal. */
  readonly columns?: number | undefined;
  /** Resolves when more can be written; resolves with false when the reader has closed its end. */
  readonly drained?: () => Promise<boolean>;
}

export const EXIT = {
  ok: 0,
  /** The config is invalid, the agent could not start, or it was stopped before it had drained. */
  failed: 1,
  /** The command line is invalid. */
  usage: 2,
  /** A condition of `--fail-on` holds. */
  conditionHolds: 3,
} as const;

/** The command line is invalid. Printed with a pointer to the help; exit code 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
  readonly suggestion: string | undefined;

  constructor(message: string, suggestion?: string) {
    super(message);
    this.suggestion = suggestion;
  }
}

/** The user ended a question with Ctrl+D or Ctrl+C. Exit code 1. */
export class UnansweredError extends Error {
  override readonly name = "UnansweredError";
}

/**
 * The process's own streams. A stream that cannot be written to (a closed terminal, a full disk) must not crash the
 * process, least of all an agent, which would try to log the error. `onLost` is called when output is lost, but not
 * when a reader has closed its end, as in `sluice components | head`.
 */
export function processTerminal(process: NodeJS.Process, onLost: (error: Error) => void): Terminal {
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});
  return {
    out: outputOf(process.stdout, process.env, onLost),
    err: outputOf(process.stderr, process.env),
    env: process.env,
    ask: process.stderr.isTTY && process.stdin.isTTY ? (question) => askPerson(question, process) : undefined,
  };
}

async function askPerson(question: string, { stdin, stderr }: NodeJS.Process): Promise<string> {
  const { createInterface } = await import("node:readline/promises");
  const lines = createInterface({ input: stdin, output: stderr });
  try {
    return await lines.question(question);
  } catch (error) {
    if ((error as Error).name === "AbortError") throw new UnansweredError("the question was not answered");
    throw error;
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
