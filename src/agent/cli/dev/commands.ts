import type { Command, CommandOption } from "../command.js";

/** `sluice dev`, with the options that name a config. */
export function devCommand(config: Readonly<Record<string, CommandOption>>): Command {
  return {
    name: "dev",
    summary: "Run a config while you write it or its plugins.",
    details: [
      "Runs the agent, reloads the config and plugins when a file of them is saved, and shows records as they pass: what",
      "exporters get, masked, a few per second. Problems stay on the screen until they are fixed; meanwhile the last version",
      "that worked runs on. A config that is broken from the start is waited for.",
      "Plugins may be TypeScript: Node.js 22.18 and newer run it, older ones use the typescript package beside the plugin.",
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
