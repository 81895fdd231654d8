import { configJsonSchema, type JsonSchema } from "#config";
import type { CommandContext } from "./command.js";
import { registryWithPlugins } from "./registry-with-plugins.js";
import { EXIT } from "./terminal.js";

/** `sluice schema`: prints the JSON Schema of a config. */
export async function schema(context: CommandContext): Promise<number> {
  const registry = await registryWithPlugins(context);
  if (registry === undefined) return EXIT.failed;
  context.terminal.out.write(schemaText(configJsonSchema(registry)));
  return EXIT.ok;
}

/** One line per definition: with indentation the schema would be nearly twice as large. */
function schemaText({ definitions, ...root }: JsonSchema): string {
  const lines = Object.entries(definitions as JsonSchema).map(([name, json]) => `"${name}": ${JSON.stringify(json)}`);
  return JSON.stringify({ ...root, definitions: {} }, undefined, 2)
    .replace(/\{\}(?=\s*\}$)/, () => `{\n    ${lines.join(",\n    ")}\n  }`)
    .concat("\n");
}
