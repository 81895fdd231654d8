import { z } from "zod";
import { hostPort } from "#net";
import { ignored } from "../../plugin.js";

export const awsXrayReceiverSchema = z.strictObject({
  endpoint: hostPort("127.0.0.1:2000")
    .default("127.0.0.1:2000")
    .meta({ description: "Where to listen for UDP packets; host:port, with 0.0.0.0 for all interfaces." }),
  transport: z.literal("udp").default("udp").meta({ description: "X-Ray's SDKs send over UDP only." }),
  dialer: ignored("the receiver opens no connections"),
  proxy_server: ignored(
    "sampling rules are not fetched from AWS, and no TCP port is opened: SDKs that ask for them use their local rules",
  ),
});

export type AwsXrayReceiverConfig = z.infer<typeof awsXrayReceiverSchema>;
