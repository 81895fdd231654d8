import { z } from "zod";
import { caseInsensitiveEnum, deprecated, ignored } from "../../plugin.js";

type Verbosity = "basic" | "normal" | "detailed";

const VERBOSITY_OF = { debug: "detailed", info: "normal", warn: "basic", error: "basic" } as const;

export const debugSchema = z.strictObject({
  verbosity: caseInsensitiveEnum(["basic", "normal", "detailed"]).optional().meta({ description: "Default basic." }),
  loglevel: deprecated(
    caseInsensitiveEnum(["debug", "info", "warn", "error"]).optional(),
    "use verbosity: detailed (debug), normal (info) or basic (warn, error)",
  ),
  sampling_initial: z
    .number()
    .int()
    .nonnegative()
    .default(2)
    .meta({ description: "How many batches per signal are shown each second before sampling_thereafter applies." }),
  sampling_thereafter: z
    .number()
    .int()
    .nonnegative()
    .default(1)
    .meta({ description: "After that, every n-th batch is shown: 1 shows all, 0 none." }),
  output_paths: z
    .array(z.string().min(1, "expected stdout, stderr or the path of a file"))
    .min(1)
    .default(["stdout"])
    .meta({ privileged: true, description: "Where to print: stdout, stderr, or files to append to." }),
  use_internal_logger: ignored("telemetry is written to output_paths, never into the agent's own log"),
});

export type DebugConfig = z.infer<typeof debugSchema>;

/** `verbosity` wins over the old `loglevel`. */
export function verbosityOf({ verbosity, loglevel }: DebugConfig): Verbosity {
  return verbosity ?? (loglevel === undefined ? "basic" : VERBOSITY_OF[loglevel]);
}
