import { isRecord } from "#contract/schema";

export type JsonSchema = { [key: string]: unknown };

/** These words say nothing about what is valid, so they may stand beside a `$ref`, where some validators ignore them. */
const ANNOTATIONS = ["description", "default", "deprecated"];
/** Shorter schemas stay where they are: a reference to them would take as much room. */
const MIN_SHARED_LENGTH = 40;

/**
 * The same JSON Schema with equal parts written once, below `definitions`. Two parts are equal if they differ in annotations
 * only: those stay where they were, beside the reference, because editors show them on hover. A definition that is already there
 * keeps its name.
 */
export function shareDefinitions({ definitions, ...root }: JsonSchema): JsonSchema {
  const shapes = new Shapes();
  const own = mapSubschemas(root, shapes.use);
  const named = Object.entries((definitions ?? {}) as Record<string, JsonSchema>).map(
    ([name, each]) => [name, mapSubschemas(each, shapes.use)] as const,
  );
  const shared: JsonSchema = {};
  const expanded = mapSubschemas(own, shapes.expandInto(shared));
  const expandedNamed = named.map(([name, each]) => [name, mapSubschemas(each, shapes.expandInto(shared), name)]);
  return { ...expanded, definitions: { ...Object.fromEntries(expandedNamed), ...shared } };
}

/** A schema without its annotations, whose subschemas are `ShapeUse`s, and in how many places of other shapes it stands. */
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

  /** Takes a schema in, and counts this place for it. */
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

  /** Turns uses back into schemas: a shape with several uses into a reference to its definition in `shared`. */
  expandInto(shared: JsonSchema): SubschemaMapper {
    const expand: SubschemaMapper = (use, key) => {
      const { annotations } = use as ShapeUse;
      const shape = this.list[(use as ShapeUse).shape]!;
      if (shape.uses < 2 || shape.length < MIN_SHARED_LENGTH || "$ref" in shape.body)
        return { ...mapSubschemas(shape.body, expand, key), ...annotations };
      if (shape.name === undefined) {
        shape.name = freeName(key, shared);
        // Reserves the name before the subschemas take theirs.
        shared[shape.name] = {};
        shared[shape.name] = mapSubschemas(shape.body, expand, key);
      }
      return { $ref: `#/definitions/${shape.name}`, ...annotations };
    };
    return expand;
  }
}

/** A name after the key where the definition is first used, with a number if it is taken. */
function freeName(key: string, taken: JsonSchema): string {
  const base = `shared.${key.replace(/[^\w.-]+/g, "_")}`;
  let name = base;
  for (let i = 2; name in taken; i++) name = `${base}.${i}`;
  return name;
}

type SubschemaMapper = (subschema: JsonSchema, key: string) => JsonSchema;

/** The schema with every schema directly below it replaced. `key` is the key of a map that the schema is of, as far as known. */
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

/** Words with schemas in them: by key, in a list, or one. */
const KEYED = ["properties", "patternProperties", "dependencies"];
const LISTED = ["anyOf", "oneOf", "allOf", "items"];
const SINGLE = ["additionalProperties", "items", "propertyNames", "contains", "not", "if", "then", "else"];
