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

/** One line per section and per definition: with indentation the schema would be nearly twice as large. */
function schemaText({ $defs, properties, ...root }: JsonSchema): string {
  const lines = linesOf(root, "  ");
  const blocks = Object.entries({ properties, $defs } as Record<string, JsonSchema>).map(
    ([name, block]) => `  "${name}": {\n${linesOf(block, "    ").join(",\n")}\n  }`,
  );
  return `{\n${[...lines, ...blocks].join(",\n")}\n}\n`;
}

function linesOf(object: JsonSchema, indent: string): string[] {
  return Object.entries(object).map(([name, json]) => `${indent}"${name}": ${JSON.stringify(json)}`);
}
