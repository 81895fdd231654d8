import { z } from "zod";
import { duration, lazySection, secret } from "#contract/schema";
import { tlsClient } from "#net";

/** Package of the Redis client. */
export const REDIS_CLIENT = "ioredis";

/** Connection keys of every component that uses Redis. */
export const redisConnectionKeys = () => ({
  endpoint: z
    .string()
    .regex(/^(?:\[[^\]]+\]|[^\s:/]+):\d+$|^\//, "expected host:port, or the path of a socket")
    .default("localhost:6379")
    .meta({ description: "The address of the server, host:port or the path of a socket." }),
  username: z.string().optional().meta({ description: "The name of a user of the server's ACL." }),
  password: secret().optional().meta({ description: "The password of the user, or of the server." }),
  db: z.number().int().nonnegative().default(0).meta({ description: "The number of the database." }),
  tls: lazySection(tlsClient)
    .optional()
    .meta({ description: "Encrypts connections; without it, or with insecure: true, they are plain text." }),
  connect_timeout: duration().default(5000).meta({ description: "Time limit for connecting to the server." }),
});

export type RedisConnectionConfig = z.infer<z.ZodObject<ReturnType<typeof redisConnectionKeys>>>;
