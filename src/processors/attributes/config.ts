import { z } from "zod";
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
