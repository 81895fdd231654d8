import { z } from "zod";
import { duration, lazySection, secret } from "#contract/schema";
import { tlsClient } from "#net";

/** Packages of the NATS client. */
export const NATS_CLIENTS = ["@nats-io/transport-node", "@nats-io/jetstream"] as const;

const auth = () =>
  z.strictObject({
    user: z.string().optional().meta({ description: "The name of a user." }),
    password: secret().optional().meta({ description: "The user's password." }),
    token: secret().optional().meta({ harmless: true, description: "A token, instead of user and password." }),
    nkey_file: z
      .string()
      .optional()
      .meta({ harmless: true, description: "The file with the seed of a user's NKey, as `nk -gen user` writes it." }),
    creds_file: z
      .string()
      .optional()
      .meta({ harmless: true, description: "The file with a user's JWT and seed, as `nsc` writes it." }),
  });

/** Connection keys that the NATS receiver and exporter share. */
export const natsConnectionKeys = () => ({
  servers: z
    .union([z.string().transform((one) => [one]), z.array(z.string()).min(1, "expected at least one server")])
    .default(["nats://localhost:4222"])
    .meta({ description: "Addresses of one or several servers of a cluster, such as nats://localhost:4222." }),
  auth: lazySection(auth).optional().meta({ description: "Authentication to the server." }),
  tls: lazySection(tlsClient)
    .optional()
    .meta({ description: "Encrypts connections; without it, or with insecure: true, the server decides." }),
  connect_timeout: duration().default(5000).meta({ description: "Time limit for connecting to a server." }),
});

export type NatsConnectionConfig = z.infer<z.ZodObject<ReturnType<typeof natsConnectionKeys>>>;

/** Keys of a JetStream stream. The stream must exist unless `create_stream` is set. */
export const natsStreamKeys = () => ({
  stream: z.string().min(1).meta({ description: "The JetStream stream." }),
  create_stream: z.boolean().default(false).meta({
    description:
      "Create the stream if it does not exist, with the subjects of this config, on disk, and with the server's defaults.",
  }),
});
