import { z } from "zod";
import { grpcClientKeys } from "../../runtime/kit.js";

export const otlpGrpcSchema = z.strictObject(grpcClientKeys());

export type OtlpGrpcConfig = z.infer<typeof otlpGrpcSchema>;
