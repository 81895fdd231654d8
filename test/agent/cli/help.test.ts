import { describe, expect, it } from "vitest";
import { isGroup } from "../../../src/agent/cli/command.js";
import { COMMANDS } from "../../../src/agent/cli/commands.js";
import { commandHelp, overview } from "../../../src/agent/cli/help.js";

const commands = COMMANDS.flatMap((command) => (isGroup(command) ? [command, ...command.commands] : [command]));
const words = (text: string) => text.split(/\s+/).join(" ");

describe("the help in a terminal of 80 columns", () => {
  it("fits the overview without breaking a line", () => {
    expect(overview(80)).toBe(overview());
    for (const line of overview(80).split("\n")) expect(line.length).toBeLessThanOrEqual(80);
  });

  it.each(commands.map((command) => [command.name, command] as const))(
    "breaks lines of %s between words",
    (_, command) => {
      const help = commandHelp(command, 80);
      const withoutExamples = help.slice(0, help.indexOf("\nExamples:"));
      for (const line of withoutExamples.split("\n")) expect(line.length, line).toBeLessThanOrEqual(80);
      expect(words(help)).toBe(words(commandHelp(command)));
    },
  );

  it("keeps examples whole, to be copied", () => {
    for (const command of commands)
      for (const example of command.examples) expect(commandHelp(command, 40)).toContain(`  ${example}\n`);
  });
});
