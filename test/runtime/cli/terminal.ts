import { main } from "../../../src/runtime/cli/main.js";
import { registry } from "../config/fakes.js";

/** Runs a command line in this process, with the fake components, and gives what it wrote. */
export async function cli(args: readonly string[], env: Record<string, string> = {}, colour = false) {
  const written = { out: "", err: "" };
  const output = (name: "out" | "err") => ({
    write: (text: string) => {
      written[name] += text;
    },
    isTerminal: colour,
    colour,
  });
  const terminal = { out: output("out"), err: output("err"), env };
  const code = await main(args, terminal, async () => registry);
  return { code, ...written };
}
