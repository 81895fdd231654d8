import { z } from "zod";
import { httpServerKeys } from "#receiving/requests";

export const remoteWriteReceiverSchema = z.strictObject(httpServerKeys("127.0.0.1:9090"));

export type RemoteWriteReceiverConfig = z.infer<typeof remoteWriteReceiverSchema>;
