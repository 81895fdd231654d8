import type { Command, CommandOption } from "../command.js";

/** `sluice dev`, with the options that name a config. */
export function devCommand(config: Readonly<Record<string, CommandOption>>): Command {
  return {
    name: "dev",
    summary: "Run a config while you write it or its plugins.",
    details: [
      "Runs the agent. Reloads the config and its plugins when you save a file. Shows a few records per second as exporters",
      "get them, masked. Problems stay on the screen until you fix them. Meanwhile, the last version that worked keeps",
      "running. If the config is broken at the start, the agent starts as soon as you have fixed it.",
      "Plugins may be TypeScript. Node.js 22.18 and newer run it; older versions need the typescript package next to the plugin.",
      "Keys: p pauses the records, f filters them by an OTTL condition, r restarts the agent, q or Ctrl-C quits.",
      "Without a terminal it prints plain lines: records to stdout, everything else to stderr.",
    ],
    options: {
      ...config,
      at: {
        type: "string",
        multiple: true,
        value: "ID",
        description: "Show records at this component or pipeline instead of at the exporters. Repeatable.",
      },
      where: { type: "string", value: "OTTL", description: "Show only records that match: severity_number >= 17." },
      rate: { type: "string", value: "N", description: "Records shown per second; default: 10, at most 100. 0: none." },
    },
    examples: ["sluice dev", "sluice dev --config example.yaml --set plugins=[./src/index.ts]"],
    load: async () => (await import("./dev.js")).dev,
  };
}
