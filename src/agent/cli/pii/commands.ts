import { type CommandGroup, type CommandOption, JSON_OUT, option } from "../command.js";

/** `options` are the options of every command that reads a config. */
export function piiCommands(options: Readonly<Record<string, CommandOption>>): CommandGroup {
  return {
    name: "pii",
    summary: "See what the processor `pii` finds in a text.",
    details: ["Needs no agent."],
    examples: ["sluice pii explain 'card 4111 1111 1111 1111 declined'"],
    commands: [
      {
        name: "pii explain",
        summary: "Show what is treated in a text, and why.",
        details: [
          "Shows each candidate with its detector, its score and the reasons for it, even if its score is below the threshold",
          "and it stays unchanged. Then shows the treated text. Reads stdin if no text is given.",
          "With a config, uses the settings of its processor `pii`. Without one, uses the defaults.",
        ],
        options: {
          key: option("KEY", "The text is the value of an attribute with this key."),
          confidence: option("LEVEL", "low, medium (default) or high."),
          profile: option("NAME", "standard (default) or strict."),
          ...options,
          processor: option("ID", "The processor of the config, if it has several: pii/audit."),
          ...JSON_OUT,
        },
        names: "[TEXT]",
        examples: [
          "sluice pii explain 'card 4111 1111 1111 1111 declined'",
          "sluice pii explain --key user.dob 1999-04-07 --json",
          "tail -n 1 app.log | sluice pii explain --config pipeline.yaml",
        ],
        load: async () => (await import("./explain.js")).explain,
      },
    ],
  };
}
