import { z } from "zod";
import { configPath, lazySection, secret } from "#contract/schema";

const SOURCES = ["file", "key", "command"] as const;

const queueKey = () =>
  z
    .strictObject({
      id: z
        .string()
        .regex(/^[\w.-]{1,64}$/, { error: "expected a short name such as 2026-01" })
        .meta({ description: "The name of the key in messages and in the queue." }),
      file: configPath()
        .optional()
        .meta({ harmless: true, description: "A file with the key: 32 bytes, raw or in hexadecimal or base64." }),
      key: secret().optional().meta({ description: "The key in hexadecimal or base64, from an environment variable." }),
      command: z.array(z.string().min(1)).min(1).optional().meta({
        privileged: true,
        description: "A program with arguments that prints the key, for example from a key service.",
      }),
    })
    .superRefine((written, context) => {
      if (SOURCES.filter((source) => written[source] !== undefined).length === 1) return;
      context.addIssue({ code: "custom", message: "expected exactly one of file, key and command" });
    });

/** Queues are not encrypted unless this section is configured. */
export const encryptionSchema = lazySection(() =>
  z
    .strictObject({
      enabled: z.boolean().default(true).meta({
        description: "If false, new entries are written unencrypted; encrypted ones are still read with the keys.",
      }),
      keys: z.array(queueKey()).min(1, "expected at least one key").meta({
        description: "The keys for decrypting queues.",
      }),
      refuse_plain: z.boolean().default(false).meta({
        description:
          "Reject entries that are not encrypted for their queue. Set it when all older entries have been delivered.",
      }),
      active: z.string().optional().meta({ description: "The id of the key for encryption; default: the first one." }),
    })
    .superRefine(({ keys, active, enabled, refuse_plain }, context) => {
      if (refuse_plain && !enabled)
        context.addIssue({
          code: "custom",
          path: ["refuse_plain"],
          message: "entries are written in plain text with enabled: false, and could not be read again",
        });
      const ids = keys.map(({ id }) => id);
      for (const [i, id] of ids.entries())
        if (ids.indexOf(id) !== i)
          context.addIssue({ code: "custom", path: ["keys", i, "id"], message: "another key has this id" });
      if (active !== undefined && !ids.includes(active))
        context.addIssue({ code: "custom", path: ["active"], message: "there is no key with this id" });
    }),
);

export type EncryptionConfig = z.infer<typeof encryptionSchema>;
export type QueueKeyConfig = EncryptionConfig["keys"][number];
