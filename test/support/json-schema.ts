/** Returns the violations of a JSON Schema by a value. Knows only the keywords that Sluice's own schema uses. */
export function violations(value: unknown, schema: Schema, root: Schema = schema, path = ""): string[] {
  if (typeof schema["$ref"] === "string") return violations(value, refersTo(root, schema["$ref"]), root, path);
  for (const word of Object.keys(schema)) if (!KNOWN.has(word)) throw new Error(`unknown word ${word}`);
  const found: string[] = [];
  const type = schema["type"] as string | string[] | undefined;
  if (type !== undefined && ![type].flat().some((each) => isOf(value, each))) return [`${path}: not ${type}`];
  const anyOf = schema["anyOf"] as Schema[] | undefined;
  if (anyOf?.every((each) => violations(value, each, root, path).length > 0)) found.push(`${path}: none of anyOf`);
  const oneOf = schema["oneOf"] as Schema[] | undefined;
  if (oneOf !== undefined && oneOf.filter((each) => violations(value, each, root, path).length === 0).length !== 1)
    found.push(`${path}: not exactly one of oneOf`);
  if (Array.isArray(schema["enum"]) && !schema["enum"].includes(value)) found.push(`${path}: not in enum`);
  if ("const" in schema && schema["const"] !== value) found.push(`${path}: not const`);
  if (typeof value === "string" && schema["pattern"] && !new RegExp(schema["pattern"] as string, "u").test(value))
    found.push(`${path}: does not match ${schema["pattern"]}`);
  if (typeof value === "number") {
    const { minimum, maximum, exclusiveMinimum } = schema as Record<string, number | undefined>;
    if (value < (minimum ?? value) || value > (maximum ?? value)) found.push(`${path}: out of range`);
    if (exclusiveMinimum !== undefined && value <= exclusiveMinimum) found.push(`${path}: out of range`);
  }
  if (Array.isArray(value) && value.length > ((schema["maxItems"] as number | undefined) ?? value.length))
    found.push(`${path}: too many`);
  if (Array.isArray(value) && isObject(schema["items"])) {
    const items = schema["items"];
    found.push(...value.flatMap((item, i) => violations(item, items, root, `${path}[${i}]`)));
  }
  if (isObject(schema["if"]) && violations(value, schema["if"], root, path).length > 0)
    found.push(...violations(value, schema["else"] as Schema, root, path));
  if (isObject(value)) found.push(...inObject(value, schema, root, path));
  return found;
}

export type Schema = { [word: string]: unknown };

const KNOWN = new Set(
  "$schema title description default deprecated examples $defs type properties patternProperties required enum const anyOf oneOf pattern minimum maximum exclusiveMinimum items additionalProperties propertyNames minLength minItems maxItems format if else".split(
    " ",
  ),
);

function inObject(value: Schema, schema: Schema, root: Schema, path: string): string[] {
  const properties = (schema["properties"] ?? {}) as Record<string, Schema>;
  const patterns = Object.entries((schema["patternProperties"] ?? {}) as Record<string, Schema>);
  const missing = ((schema["required"] ?? []) as string[]).filter((key) => !(key in value));
  const names = isObject(schema["propertyNames"]) ? schema["propertyNames"] : {};
  return [
    ...Object.keys(value).flatMap((key) => violations(key, names, root, `${path}.${key}`)),
    ...missing.map((key) => `${path}.${key}: missing`),
    ...Object.entries(value).flatMap(([key, inner]) => {
      const held = patterns.filter(([pattern]) => new RegExp(pattern, "u").test(key)).map(([, each]) => each);
      if (properties[key] !== undefined) held.push(properties[key]);
      if (held.length === 0 && isObject(schema["additionalProperties"])) held.push(schema["additionalProperties"]);
      if (held.length === 0 && schema["additionalProperties"] === false) return [`${path}.${key}: unknown`];
      return held.flatMap((each) => violations(inner, each, root, `${path}.${key}`));
    }),
  ];
}

function refersTo(root: Schema, ref: string): Schema {
  return ref
    .slice(2)
    .split("/")
    .reduce<unknown>((at, key) => (at as Schema)[key], root) as Schema;
}

function isOf(value: unknown, type: string): boolean {
  if (type === "null") return value === null;
  if (type === "array") return Array.isArray(value);
  if (type === "object") return isObject(value);
  if (type === "integer") return Number.isInteger(value);
  return typeof value === type;
}

function isObject(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
