import { z } from "zod";
import { httpServerKeys } from "#receiving/requests";

export const faroSchema = z.strictObject(httpServerKeys("127.0.0.1:8080"));

export type FaroConfig = z.infer<typeof faroSchema>;
