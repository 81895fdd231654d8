import { z } from "zod";
import { grpcClientKeys } from "../../runtime/kit.js";

const { compression, ...keys } = grpcClientKeys();

export const jaegerExporterSchema = z.strictObject({
  ...keys,
  compression: compression.unwrap().default("none").meta({ description: "How messages are sent; Jaeger takes gzip." }),
});

export type JaegerExporterConfig = z.infer<typeof jaegerExporterSchema>;
