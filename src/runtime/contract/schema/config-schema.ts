import { type ZodType, z } from "zod";

/**
 * A schema for a component's config: of any copy of zod 4, or of any library that follows the Standard Schema (zod 3,
 * valibot, arktype). From a zod 4 schema Sluice also knows keys, defaults, descriptions and secrets; the others can
 * only validate a config.
 */
export interface ConfigSchema<Output = unknown> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined;
  };
}

type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] };

interface StandardIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** Returns a zod schema for any schema, or for none. */
export function configSchema(schema: ConfigSchema | undefined): ZodType {
  if (schema === undefined) return z.looseObject({}).meta({ opaque: true });
  return isZod(schema) ? schema : adaptStandardSchema(schema);
}

/** Whether a value is a zod 4 schema. Checked by shape, because a plugin may have its own copy of zod. */
export function isZod(schema: unknown): schema is ZodType {
  return typeof schema === "object" && schema !== null && "_zod" in schema && "safeParse" in schema;
}

function adaptStandardSchema(schema: ConfigSchema): ZodType {
  const standard = schema["~standard"];
  if (typeof standard?.validate !== "function") {
    throw new TypeError(
      "schema is not a schema: expected one of zod, or of a library that follows the Standard Schema",
    );
  }
  return z
    .unknown()
    .transform((value, context) => {
      const result = standard.validate(value);
      if ("then" in result) {
        context.addIssue({
          code: "custom",
          message: "the component's schema is asynchronous; only synchronous schemas are supported",
        });
        return z.NEVER;
      }
      if (result.issues === undefined) return result.value;
      for (const { message, path = [] } of result.issues) {
        context.addIssue({ code: "custom", message, path: path.map(pathKey) });
      }
      return z.NEVER;
    })
    .meta({ opaque: true });
}

function pathKey(part: PropertyKey | { readonly key: PropertyKey }): PropertyKey {
  return typeof part === "object" ? part.key : part;
}

/**
 * Options for parsing with a schema that is used a few times at most. zod otherwise compiles a function for every object
 * of a schema when it is first used, which takes longer than parsing a config without.
 */
export const PARSED_ONCE = { jitless: true } as const;
