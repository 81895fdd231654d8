import { EXIT, processTerminal, type Terminal } from "../terminal.js";
import { isVersion, printVersion } from "./version.js";

/**
 * Runs the command line of this process and exits once all output is written. Open handles cannot keep the process
 * alive.
 */
export async function runProcess(process: NodeJS.Process): Promise<void> {
  // Without a listener Node.js opens its debugger on SIGUSR1, and anyone who can connect to it can run code here.
  process.on("SIGUSR1", () => {});
  const onExit = (code: number) => onEarlyExit(process, code);
  process.once("exit", onExit);
  let outputError: Error | undefined;
  const terminal = processTerminal(process, (error) => {
    outputError ??= error;
  });
  const code = await run(process.argv.slice(2), terminal).catch((error: unknown) => reportBug(error, terminal));
  process.off("exit", onExit);
  process.exitCode = code;
  await flushed(process.stdout);
  if (outputError !== undefined) process.stderr.write(`sluice: cannot write the output: ${outputError.message}\n`);
  await flushed(process.stderr);
  process.exit(outputError === undefined ? code : code || EXIT.failed);
}

/** Answers `--version` without loading the command line, which takes longer than to start Node.js. */
async function run(argv: readonly string[], terminal: Terminal): Promise<number> {
  if (isVersion(argv[0])) return printVersion(terminal);
  const { main } = await import("../main.js");
  return main(argv, terminal);
}

function flushed(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => void stream.write("", () => resolve()));
}

/** Reports an error that no command expects, with source positions in its stack. */
async function reportBug(error: unknown, { err }: Terminal): Promise<number> {
  const { sourceStack } = await import("../../../runtime/host/errors/source-position.js");
  const { errorMessage } = await import("#contract/errors");
  err.write(`sluice: this is a bug in Sluice or in a plugin: ${sourceStack(error) || errorMessage(error)}\n`);
  return EXIT.failed;
}

/**
 * Exits with an error when the process ends before its command has finished: if a plugin calls process.exit(0), it must
 * not look like success.
 */
function onEarlyExit(process: NodeJS.Process, code: number): void {
  if (code !== 0) return;
  process.exitCode = EXIT.failed;
  process.stderr.write("sluice: the process ended before its work was done: a plugin called process.exit\n");
}
