import { z } from "zod";
import { tlsClient } from "#net";
import { metricKeys, resourceAttributeKey, scrapingKeys } from "#receiving";
import { secret, section } from "../../plugin.js";
import { REDIS_METRICS } from "./metrics.js";

export const redisSchema = z
  .strictObject({
    endpoint: z
      .string()
      .default("localhost:6379")
      .meta({ description: "The address of the server, host:port; with transport unix the path of its socket." }),
    transport: z
      .enum(["tcp", "tcp4", "tcp6", "unix"])
      .default("tcp")
      .meta({ description: "What the endpoint is an address of." }),
    username: z.string().optional().meta({ description: "The name of a user of the server's ACL." }),
    password: secret().optional().meta({ description: "The password of the user, or of the server." }),
    tls: section(tlsClient())
      .optional()
      .meta({ description: "Encrypts the connection; without it, or with insecure: true, it is plain text." }),
    ...scrapingKeys(10_000, 0, "30 seconds"),
    ...metricKeys(REDIS_METRICS),
    resource_attributes: section(
      z.strictObject({
        "redis.version": resourceAttributeKey(true),
        "server.address": resourceAttributeKey(false),
        "server.port": resourceAttributeKey(false),
      }),
    )
      .prefault({})
      .meta({ description: "Which attributes the resource has." }),
  })
  .superRefine(({ endpoint, transport }, context) => {
    const isSocket = transport === "unix" || endpoint.startsWith("/");
    if (isSocket ? endpoint.startsWith("/") : /^(?:\[[^\]]+\]|[^\s:/]+):\d{1,5}$/.test(endpoint)) return;
    const expected = isSocket ? "the path of a socket" : "host:port such as localhost:6379";
    context.addIssue({ code: "custom", path: ["endpoint"], message: `expected ${expected}` });
  });

export type RedisConfig = z.infer<typeof redisSchema>;
