import { readFileSync } from "node:fs";
import { parse } from "yaml";

type Node = Record<string, unknown>;
interface Operation {
  readonly parameters?: Node[];
  readonly requestBody?: { readonly content: Record<string, { readonly schema: Node } | undefined> };
  readonly responses?: Record<string, Node | undefined>;
}

export const document = parse(readFileSync("docs/openapi.yaml", "utf8")) as {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Node>; parameters: Record<string, Node> };
};

/** Resolves a reference. */
export function resolved(node: Node): Node {
  const path = (node["$ref"] as string | undefined)?.slice(2).split("/");
  return path === undefined ? node : resolved(path.reduce<unknown>((at, part) => (at as Node)[part], document) as Node);
}

/** Returns the members of a value that its schema does not name, and those that it lacks. */
export function differences(value: unknown, written: Node, path = "$"): string[] {
  const schema = resolved(written);
  if (Array.isArray(value))
    return value.flatMap((item, i) => differences(item, (schema["items"] ?? {}) as Node, `${path}[${i}]`));
  if (typeof value !== "object" || value === null) return [];
  const others = schema["additionalProperties"];
  if (others === true || others === false) return [];
  if (others !== undefined)
    return Object.entries(value).flatMap(([name, part]) => differences(part, others as Node, `${path}.${name}`));
  const parents = ((schema["allOf"] ?? []) as Node[]).map(resolved);
  const properties = Object.assign({}, ...[...parents, schema].map((each) => each["properties"] ?? {})) as Record<
    string,
    Node
  >;
  if (Object.keys(properties).length === 0) return [];
  const missing = ((schema["required"] ?? []) as string[]).filter((name) => !Object.hasOwn(value, name));
  return [
    ...missing.map((name) => `${path}.${name} is missing`),
    ...Object.entries(value).flatMap(([name, part]) =>
      Object.hasOwn(properties, name)
        ? differences(part, properties[name]!, `${path}.${name}`)
        : [`${path}.${name} is not described`],
    ),
  ];
}

/** Returns the members of an answer that the schema of this name lacks, and those that the answer lacks. */
export function undescribed(value: unknown, schema: string): string[] {
  return differences(value, { $ref: `#/components/schemas/${schema}` });
}
