import { z } from "zod";
import { kubernetesApiKeys } from "#net/kubernetes";
import { leaderKey } from "#receiving";
import { compilePattern } from "#text/patterns";
import { duration, section } from "../../plugin.js";

const HOUR_MS = 3_600_000;

const names = () =>
  z
    .array(z.string().min(1))
    .nullish()
    .transform((list) => list ?? []);

/** Where the position of watches is kept. */
const storageKeys = {
  storage: z.string().nullish().meta({
    description: "With any value, the position of watches survives a restart, in `offsets_directory`.",
  }),
  offsets_directory: z
    .string()
    .min(1)
    .default("./data/offsets")
    .meta({ privileged: true, description: "The directory for positions; each receiver has its own file there." }),
};

const namespacePattern = z
  .strictObject({
    regex: z.string().default("").meta({ description: "A pattern that a part of the name matches." }),
    strict: z.string().default("").meta({ description: "The name itself." }),
  })
  .superRefine(({ regex }, context) => {
    try {
      compilePattern(regex);
    } catch (error) {
      context.addIssue({ code: "custom", path: ["regex"], message: (error as Error).message });
    }
  });

const watchedObject = z
  .strictObject({
    name: z.string().min(1, "expected a name such as pods").meta({ description: "The plural name, such as pods." }),
    group: z.string().default("").meta({ description: "The API group, such as events.k8s.io. Default: any." }),
    namespaces: names().meta({ description: "Only objects of these namespaces. Default: all." }),
    exclude_namespaces: z
      .array(namespacePattern)
      .nullish()
      .transform((list) => list ?? [])
      .meta({ description: "Objects of these namespaces are left out." }),
    mode: z.enum(["pull", "watch"]).default("pull").meta({
      description: "pull: all objects at intervals. watch: each change when it happens.",
    }),
    label_selector: z.string().default("").meta({ description: "Only objects with these labels." }),
    field_selector: z.string().default("").meta({ description: "Only objects with these fields." }),
    interval: duration()
      .optional()
      .meta({ description: "How often objects are pulled. Default: that of the receiver." }),
    initial_delay: duration().default(0).meta({ description: "Delay before objects are pulled for the first time." }),
    resource_version: z
      .string()
      .default("")
      .meta({ description: "The resource version after which to watch, or the version of pulled objects." }),
    exclude_watch_type: z
      .array(z.enum(["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"]))
      .nullish()
      .transform((list) => list ?? [])
      .meta({ description: "Kinds of changes that are left out." }),
  })
  .superRefine(({ mode, interval, initial_delay, exclude_watch_type, namespaces, exclude_namespaces }, context) => {
    const issue = (key: string, message: string) => context.addIssue({ code: "custom", path: [key], message });
    if (mode === "pull" && exclude_watch_type.length > 0) issue("exclude_watch_type", "needs mode: watch");
    if (mode === "watch" && initial_delay > 0) issue("initial_delay", "needs mode: pull");
    if (interval && initial_delay >= interval) issue("initial_delay", "expected less than interval");
    if (namespaces.length > 0 && exclude_namespaces.length > 0)
      issue("exclude_namespaces", "expected one of namespaces and exclude_namespaces");
  });

export const k8sObjectsSchema = z
  .strictObject({
    ...kubernetesApiKeys,
    objects: z.array(section(watchedObject)).default([]).meta({ description: "The kinds of objects." }),
    interval: duration()
      .optional()
      .transform((ms) => ms || HOUR_MS)
      .meta({ description: "How often objects are pulled that have no interval of their own. Default: 1h." }),
    include_initial_state: z
      .boolean()
      .default(false)
      .meta({ description: "Watches begin with the objects that exist, as ADDED." }),
    error_mode: z.enum(["propagate", "ignore", "silent"]).default("propagate").meta({
      description: "What happens if the API server does not know an object: an error, a line in the log, or nothing.",
    }),
    ...storageKeys,
    k8s_leader_elector: leaderKey,
  })
  .superRefine(({ objects, storage, include_initial_state }, context) => {
    for (const [index, { resource_version, mode }] of objects.entries()) {
      if (storage && resource_version !== "")
        context.addIssue({
          code: "custom",
          path: ["objects", index, "resource_version"],
          message: "expected none: with storage, the position is kept",
        });
      if (include_initial_state && mode === "pull")
        context.addIssue({
          code: "custom",
          path: ["include_initial_state"],
          message: "expected false: objects that are pulled are all there",
        });
    }
  });

export type K8sObjectsConfig = z.infer<typeof k8sObjectsSchema>;
export type ObjectsOfKind = z.infer<typeof watchedObject>;

export const k8sEventsSchema = z.strictObject({
  ...kubernetesApiKeys,
  namespaces: names().meta({ description: "Only events of these namespaces. Default: all." }),
  dedup_interval: z
    .preprocess(
      (value) => (/^\s*-/.test(String(value)) ? -1 : value),
      z.union([z.literal(-1), duration()], { error: "expected a duration such as 5m" }),
    )
    .default(0)
    .meta({
      description:
        "Changes of an event are left out for this time after the last one. Negative: all of its changes are.",
    }),
  ...storageKeys,
  k8s_leader_elector: leaderKey,
});

export type K8sEventsConfig = z.infer<typeof k8sEventsSchema>;
