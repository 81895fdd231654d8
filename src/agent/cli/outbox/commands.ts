import type { CommandGroup, CommandOption } from "../command.js";

/** `options` are the options of every command that reads a config. */
export function outboxCommands(options: Readonly<Record<string, CommandOption>>): CommandGroup {
  return {
    name: "outbox",
    summary: "Prepare a database for the receiver `outbox`.",
    details: ["Prints SQL, and runs nothing."],
    examples: ["sluice outbox migration | psql shop"],
    commands: [
      {
        name: "outbox migration",
        summary: "Print SQL that creates or updates the table of an outbox.",
        details: [
          "With a config, for the tables and columns of its `outbox` receivers; without one, for the defaults, including the",
          "table event_handled. The SQL is only printed. It can be run repeatedly.",
        ],
        options: { ...options },
        examples: ["sluice outbox migration | psql shop", "sluice outbox migration --config pipeline.yaml"],
        load: async () => (await import("./migration.js")).printMigration,
      },
    ],
  };
}
