import { main } from "../../../src/agent/cli/main.js";
import type { Terminal } from "../../../src/agent/cli/terminal.js";
import { registry } from "../../runtime/config/fakes.js";

/** Runs a command line in this process, with the fake components, and gives what it wrote. */
export async function cli(args: readonly string[], env: Record<string, string> = {}, colour = false) {
  const { terminal, written } = recorder(env, colour);
  const code = await main(args, terminal, async () => registry);
  return { code, ...written };
}

/** Runs a command line in this process, with the components there are, and gives what it wrote. */
export async function runCli(args: readonly string[], env: Record<string, string> = {}) {
  const { terminal, written } = recorder(env);
  const code = await main(args, terminal);
  return { code, ...written };
}

/**
 * Runs a command line in this process, with the components there are, as if it were called from `folder`; gives what it
 * printed, and rejects when it fails. For what a command does, where a process for it would cost more than the command.
 */
export async function sluiceHere(folder: string, ...args: string[]): Promise<{ stdout: string }> {
  const { terminal, written } = recorder({ ...process.env });
  const before = process.cwd();
  process.chdir(folder);
  try {
    const code = await main(args, terminal);
    if (code !== 0) throw new Error(`sluice ${args.join(" ")} gave ${code}: ${written.err}`);
    return { stdout: written.out };
  } finally {
    process.chdir(before);
  }
}

/** A terminal that keeps what is written to it. */
function recorder(env: Terminal["env"], colour = false) {
  const written = { out: "", err: "" };
  const output = (name: "out" | "err") => ({
    write: (text: string) => {
      written[name] += text;
    },
    isTerminal: colour,
    colour,
  });
  return { written, terminal: { out: output("out"), err: output("err"), env } };
}
