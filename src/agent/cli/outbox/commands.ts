import type { CommandGroup, CommandOption } from "../command.js";

/** `options` are the options of every command that reads a config. */
export function outboxCommands(options: Readonly<Record<string, CommandOption>>): CommandGroup {
  return {
    name: "outbox",
    summary: "What the receiver `outbox` needs of a database.",
    details: [],
    examples: ["sluice outbox migration | psql shop"],
    commands: [
      {
        name: "outbox migration",
        summary: "Print the SQL that makes the table of an outbox, or brings one up to date.",
        details: [
          "With a config it is for the tables and columns of the receivers `outbox` in it; without, for the defaults, with",
          "the table event_handled. Nothing is run. Running it twice changes nothing the second time.",
        ],
        options: { ...options },
        examples: ["sluice outbox migration | psql shop", "sluice outbox migration --config pipeline.yaml"],
        load: async () => (await import("./migration.js")).printMigration,
      },
    ],
  };
}
