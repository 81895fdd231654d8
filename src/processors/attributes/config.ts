import { z } from "zod";
import { compilePattern } from "#text/patterns";
import { section } from "../../plugin.js";
import { actionSchema } from "./actions.js";
import { matchSchema } from "./match.js";

export const attributesSchema = z.strictObject({
  actions: z.array(actionSchema).min(1).meta({ description: "The actions for each record, in this order." }),
  include: matchSchema.optional().meta({ description: "Only records that match this are changed." }),
  exclude: matchSchema.optional().meta({ description: "Records that match this are not changed." }),
});

export type AttributesConfig = z.infer<typeof attributesSchema>;

export const resourceSchema = z.strictObject({
  attributes: z.array(actionSchema).min(1).meta({ description: "The actions for each resource, in this order." }),
});

export type ResourceConfig = z.infer<typeof resourceSchema>;

const rule = z.string().superRefine((source, context) => {
  try {
    if (compilePattern(source).groupNames.length > 0) return;
    context.addIssue({ code: "custom", message: "expected a named group such as (?P<id>[0-9]+)" });
  } catch (error) {
    context.addIssue({ code: "custom", message: `not a pattern: ${(error as Error).message}` });
  }
});

const spanName = z.strictObject({
  from_attributes: z
    .array(z.string())
    .default([])
    .meta({ description: "Attributes whose values become the name, in this order; spans that lack one keep theirs." }),
  separator: z.string().default("").meta({ description: "The text between these values." }),
  to_attributes: section(
    z.strictObject({
      rules: z
        .array(rule)
        .min(1)
        .meta({ description: "Patterns in RE2 syntax. Named groups become attributes, and {group} in the name." }),
      break_after_match: z.boolean().default(false).meta({ description: "Use only the first rule that matches." }),
      keep_original_name: z.boolean().default(false).meta({ description: "Leave the name as it is." }),
    }),
  )
    .optional()
    .meta({ description: "Moves parts of the name to attributes." }),
});

export const spanSchema = z
  .strictObject({
    name: section(spanName)
      .optional()
      .meta({ description: "Makes the name of a span from attributes, or attributes from its name." }),
    status: section(
      z.strictObject({
        code: z.enum(["Ok", "Error", "Unset"]).meta({ description: "The new status." }),
        description: z.string().default("").meta({ description: "Its message, for Error." }),
      }),
    )
      .optional()
      .meta({ description: "Sets the status of a span." }),
    include: matchSchema.optional().meta({ description: "Only spans that match this are changed." }),
    exclude: matchSchema.optional().meta({ description: "Spans that match this are not changed." }),
  })
  .superRefine(({ name, status }, context) => {
    const isNaming = name !== undefined && (name.from_attributes.length > 0 || name.to_attributes !== undefined);
    if (!isNaming && status === undefined)
      context.addIssue({
        code: "custom",
        path: ["name"],
        message: "expected name.from_attributes, name.to_attributes or status",
      });
    if (status?.description && status.code !== "Error")
      context.addIssue({ code: "custom", path: ["status", "description"], message: "only Error has a description" });
  });

export type SpanConfig = z.infer<typeof spanSchema>;
