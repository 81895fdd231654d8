import { z } from "zod";
import { parseHostPort } from "#net";

const UNIX = "unix://";

export const fluentForwardSchema = z.strictObject({
  endpoint: z
    .string()
    .refine(
      (text) => (text.startsWith(UNIX) ? text.length > UNIX.length : parseHostPort(text) !== undefined),
      "expected host:port, such as 127.0.0.1:24224, or unix:///path/of/a.sock",
    )
    .default("127.0.0.1:24224")
    .meta({ description: "Where to listen: host:port, or unix:// and the path of a socket." }),
});

export type FluentForwardConfig = z.infer<typeof fluentForwardSchema>;

/** Endpoint and transport in the form that listening functions take. */
export function listenTarget({ endpoint }: FluentForwardConfig): [endpoint: string, transport: "tcp" | "unix"] {
  return endpoint.startsWith(UNIX) ? [endpoint.slice(UNIX.length), "unix"] : [endpoint, "tcp"];
}
