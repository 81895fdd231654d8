import type { z } from "zod";
import { exporterSettingsSchema } from "../../plugin.js";
import { directorySchema } from "./directory.js";

/** The keys every exporter has, as the defaults of all exporters, and where the queues are kept. */
export const reliabilityConfig = exporterSettingsSchema.extend({ directory: directorySchema });

export type ReliabilityConfig = z.infer<typeof reliabilityConfig>;
