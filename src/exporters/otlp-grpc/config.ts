import { z } from "zod";
import { grpcClientKeys } from "#net/sending";

export const otlpGrpcSchema = z.strictObject(grpcClientKeys());

export type OtlpGrpcConfig = z.infer<typeof otlpGrpcSchema>;
