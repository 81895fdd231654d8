import { configJsonSchema } from "../config/schema/json-schema.js";
import type { CommandContext } from "./command.js";
import { registryWithPlugins } from "./registry-with-plugins.js";
import { EXIT } from "./terminal.js";

/** `sluice schema`: the JSON Schema of a config. */
export async function schema(context: CommandContext): Promise<number> {
  const registry = await registryWithPlugins(context);
  if (registry === undefined) return EXIT.failed;
  context.terminal.out.write(`${JSON.stringify(configJsonSchema(registry), undefined, 2)}\n`);
  return EXIT.ok;
}
