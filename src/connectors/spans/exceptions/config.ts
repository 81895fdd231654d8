import { z } from "zod";
import { section } from "../../../plugin.js";

/** An attribute of the span, the event or the resource that metrics and logs get. */
export interface ExceptionDimension {
  readonly name: string;
  /** The value if none of them has the attribute; undefined leaves it out. */
  readonly fallback: string | undefined;
}

export interface ExceptionsConfig {
  readonly dimensions: readonly ExceptionDimension[];
  readonly hasExemplars: boolean;
  readonly maxSeries: number;
}

/** The attributes that metrics and logs always have. */
const OWN_DIMENSIONS = ["service.name", "span.name", "span.kind", "status.code"];

const dimension = z.strictObject({
  name: z.string().min(1).meta({ description: "The attribute, of the span, or else of the event or the resource." }),
  default: z
    .union([z.string(), z.number(), z.boolean()])
    .nullish()
    .meta({ description: "The value if the attribute is missing. Without a default, it is left out." }),
});

const DEFAULT_DIMENSIONS: readonly z.infer<typeof dimension>[] = [
  { name: "exception.type" },
  { name: "exception.message" },
];

export const exceptionsSchema = z
  .strictObject({
    dimensions: z.array(dimension).nullish().meta({
      description:
        "Attributes that metrics and logs get in addition to the built-in ones. Default: exception.type and exception.message.",
    }),
    exemplars: section(
      z.strictObject({
        enabled: z.boolean().default(false).meta({ description: "Whether points of metrics get spans as exemplars." }),
      }),
    )
      .prefault({})
      .meta({ description: "Exemplars of metrics." }),
    max_series: z
      .number()
      .int()
      .min(1)
      .default(10_000)
      .meta({ description: "Maximum number of series. Exceptions beyond it are counted in one overflow series." }),
  })
  .superRefine(({ dimensions }, context) => {
    const names = new Set(OWN_DIMENSIONS);
    for (const [i, { name }] of (dimensions ?? []).entries()) {
      if (names.has(name))
        context.addIssue({
          code: "custom",
          path: ["dimensions", i, "name"],
          message: `expected every dimension once: ${name} is there already`,
        });
      names.add(name);
    }
  })
  .transform(
    ({ dimensions, exemplars, max_series }): ExceptionsConfig => ({
      dimensions: (dimensions ?? DEFAULT_DIMENSIONS).map(({ name, default: value }) => ({
        name,
        fallback: value === undefined || value === null ? undefined : String(value),
      })),
      hasExemplars: exemplars.enabled,
      maxSeries: max_series,
    }),
  );
