import { isRecord } from "#contract/schema";

export type JsonSchema = { [key: string]: unknown };

/** These keywords do not affect validity, so they may be next to a `$ref`, where some validators ignore them. */
const ANNOTATIONS = ["description", "default", "deprecated"];
/** Shorter schemas are not shared, because a reference would be as long. */
const MIN_SHARED_LENGTH = 40;
/** The length of a reference, and of the name of its definition. */
const REFERENCE_LENGTH = 26;
/** Names are a hint only, and are written a few thousand times. */
const MAX_NAME_LENGTH = 4;

/**
 * Moves equal parts of a JSON Schema to `$defs`, so that each is written once. Parts that differ only in
 * annotations are equal: the annotations stay next to the reference, because editors show them on hover. Existing
 * definitions keep their names.
 */
export function shareDefinitions({ $defs: definitions, ...root }: JsonSchema): JsonSchema {
  const shapes = new Shapes();
  const own = mapSubschemas(root, shapes.use);
  const named = Object.entries((definitions ?? {}) as Record<string, JsonSchema>).map(
    ([name, each]) => [name, mapSubschemas(each, shapes.use)] as const,
  );
  const shared: JsonSchema = {};
  const expand = shapes.expandInto(shared, new Set(named.map(([name]) => name)));
  const expanded = mapSubschemas(own, expand);
  const expandedNamed = named.map(([name, each]) => [name, mapSubschemas(each, expand, name)]);
  return shareAnnotated({ ...expanded, $defs: { ...Object.fromEntries(expandedNamed), ...shared } });
}

/** Moves references and small schemas that are annotated in the same way at several places to `$defs` too. */
function shareAnnotated({ $defs: definitions, ...root }: JsonSchema): JsonSchema {
  const places = new Map<string, number>();
  const isAnnotated = (schema: JsonSchema) => ANNOTATIONS.some((word) => word in schema);
  const count: SubschemaMapper = (schema, key) => {
    const text = JSON.stringify(schema);
    if (isAnnotated(schema)) places.set(text, (places.get(text) ?? 0) + 1);
    return mapSubschemas(schema, count, key);
  };
  const defined = definitions as Record<string, JsonSchema>;
  for (const schema of [root, ...Object.values(defined)]) mapSubschemas(schema, count);
  const names = new Map<string, string>();
  const shared: JsonSchema = {};
  const replace: SubschemaMapper = (schema, key) => {
    const text = JSON.stringify(schema);
    const uses = places.get(text) ?? 0;
    if (uses * (text.length - REFERENCE_LENGTH) <= text.length + REFERENCE_LENGTH)
      return mapSubschemas(schema, replace, key);
    const name = names.get(text) ?? freeName(key, (each) => each in defined || each in shared);
    names.set(text, name);
    shared[name] = schema;
    return { $ref: `#/$defs/${name}` };
  };
  const ownRoot = mapSubschemas(root, replace);
  const own = Object.entries(defined).map(([name, schema]) => [name, mapSubschemas(schema, replace, name)]);
  return { ...ownRoot, $defs: { ...Object.fromEntries(own), ...shared } };
}

/**
 * A schema without its annotations, with `ShapeUse`s in place of subschemas, and the number of places in other shapes
 * that use it.
 */
interface Shape {
  readonly body: JsonSchema;
  readonly length: number;
  uses: number;
  name?: string;
}

interface ShapeUse extends JsonSchema {
  readonly shape: number;
  readonly annotations: JsonSchema;
}

class Shapes {
  private readonly list: Shape[] = [];
  private readonly byText = new Map<string, number>();

  /** Adds a schema and counts this use of it. */
  readonly use = (schema: JsonSchema): ShapeUse => {
    const use = this.find(schema);
    this.list[use.shape]!.uses++;
    return use;
  };

  private readonly find = (schema: JsonSchema): ShapeUse => {
    const entries = Object.entries(schema);
    const annotations = Object.fromEntries(entries.filter(([word]) => ANNOTATIONS.includes(word)));
    const bare = Object.fromEntries(entries.filter(([word]) => !ANNOTATIONS.includes(word)));
    const body = mapSubschemas(bare, this.find);
    const text = JSON.stringify(body);
    const known = this.byText.get(text);
    if (known !== undefined) return { shape: known, annotations };
    const shape = this.list.push({ body, length: text.length, uses: 0 }) - 1;
    this.byText.set(text, shape);
    mapSubschemas(body, (inner) => {
      this.list[(inner as ShapeUse).shape]!.uses++;
      return inner;
    });
    return { shape, annotations };
  };

  /**
   * Turns uses back into schemas: a shape used more than once becomes a reference to its definition in `shared`, under a
   * name that is not `taken`.
   */
  expandInto(shared: JsonSchema, taken: ReadonlySet<string>): SubschemaMapper {
    const expand: SubschemaMapper = (use, key) => {
      const { annotations } = use as ShapeUse;
      const shape = this.list[(use as ShapeUse).shape]!;
      if (shape.uses < 2 || shape.length < MIN_SHARED_LENGTH || "$ref" in shape.body)
        return { ...mapSubschemas(shape.body, expand, key), ...annotations };
      if (shape.name === undefined) {
        shape.name = freeName(key, (name) => name in shared || taken.has(name));
        // Reserves the name before the subschemas get theirs.
        shared[shape.name] = {};
        shared[shape.name] = mapSubschemas(shape.body, expand, key);
      }
      return { $ref: `#/$defs/${shape.name}`, ...annotations };
    };
    return expand;
  }
}

/** A name made from the key of the first use, with a number if it is taken. */
function freeName(key: string, isTaken: (name: string) => boolean): string {
  const base =
    key
      .replace(/^.*\./, "")
      .replace(/[^\w-]+/g, "_")
      .slice(0, MAX_NAME_LENGTH) || "value";
  let name = base;
  for (let i = 2; isTaken(name); i++) name = `${base}.${i}`;
  return name;
}

type SubschemaMapper = (subschema: JsonSchema, key: string) => JsonSchema;

/** Replaces every direct subschema. `key` is the key of the map entry that the schema describes, if known. */
function mapSubschemas(schema: JsonSchema, mapper: SubschemaMapper, key = "value"): JsonSchema {
  const one = (value: unknown, inner: string) => (isRecord(value) ? mapper(value, inner) : value);
  const entries = Object.entries(schema).map(([word, value]) => {
    if (KEYED.includes(word) && isRecord(value))
      return [word, Object.fromEntries(Object.entries(value).map(([name, each]) => [name, one(each, name)]))];
    if (LISTED.includes(word) && Array.isArray(value)) return [word, value.map((each) => one(each, key))];
    return [word, SINGLE.includes(word) ? one(value, key) : value];
  });
  return Object.fromEntries(entries);
}

/** Keywords that contain schemas: by key, in a list, or a single one. */
const KEYED = ["properties", "patternProperties", "dependencies"];
const LISTED = ["anyOf", "oneOf", "allOf", "items"];
const SINGLE = ["additionalProperties", "items", "propertyNames", "contains", "not", "if", "then", "else"];
