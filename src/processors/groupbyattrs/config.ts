import { z } from "zod";

export const groupByAttrsSchema = z.strictObject({
  keys: z.array(z.string().min(1)).nullish().meta({
    description: "Attributes that move from records to their resources. Without any, equal resources are merged.",
  }),
});

export type GroupByAttrsConfig = z.infer<typeof groupByAttrsSchema>;
