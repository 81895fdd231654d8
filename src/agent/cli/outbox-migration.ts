import type { OutboxReceiverConfig } from "../../receivers/outbox/config.js";
import type { CommandContext } from "./command.js";
import { loadFromArguments } from "./load-from-arguments.js";
import { showProblems } from "./show-problems.js";
import { EXIT, UsageError } from "./terminal.js";

/** `sluice outbox migration`: prints SQL to stdout, for one receiver after the other. */
export async function printMigration(context: CommandContext): Promise<number> {
  const { values, terminal } = context;
  const { outboxMigration } = await import("../../receivers/outbox/migration.js");
  const { outboxKeys } = await import("../../receivers/outbox/config.js");
  const print = (config: OutboxReceiverConfig) => terminal.out.write(outboxMigration(config));
  if (values["config"] === undefined) {
    print(outboxKeys.parse({ handled_table: "event_handled" }));
    return EXIT.ok;
  }
  const { config, problems, lineAt } = await loadFromArguments(context);
  showProblems(problems, lineAt, terminal.err);
  if (config === undefined) return EXIT.failed;
  const receivers = [...config.receivers.values()].filter(({ factory }) => factory.type === "outbox");
  if (receivers.length === 0) throw new UsageError("the config has no receiver of the type outbox");
  for (const receiver of receivers) print(receiver.config as OutboxReceiverConfig);
  return EXIT.ok;
}
