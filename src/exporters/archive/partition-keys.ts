import { z } from "zod";
import { isPlace, parseStrftime, TextError } from "#text";

/** The keys that say how objects are named. */
export const partitionKeys = {
  format: z
    .string()
    .default("year=%Y/month=%m/day=%d/hour=%H/minute=%M")
    .superRefine((format, context) => {
      const problem = problemOfPartitionFormat(format);
      if (problem !== undefined) context.addIssue({ code: "custom", message: problem });
    })
    .meta({ description: "The folders of objects by time, with directives of strftime such as %Y." }),
  timezone: z
    .string()
    .default("")
    .refine((zone) => zone === "" || isPlace(zone), "expected a zone such as Europe/Berlin")
    .meta({ description: "The time zone of these folders. Default: that of the machine." }),
  filePrefix: z.string().default("").meta({ description: "The beginning of file names." }),
};

/** Returns what is wrong with a format; undefined if nothing is. */
function problemOfPartitionFormat(format: string): string | undefined {
  try {
    parseStrftime(format);
    return undefined;
  } catch (error) {
    if (!(error instanceof TextError)) throw error;
    return error.message;
  }
}
