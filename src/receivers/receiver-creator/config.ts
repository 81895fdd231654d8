import { z } from "zod";
import { extensionReference } from "#contract/schema";
import { ENDPOINT_TYPES, type EndpointType } from "#contract/services";
import { section } from "../../plugin.js";
import { checkTemplate, EndpointRule } from "./templates.js";

/** A rule begins with the type of its endpoints, as the Collector demands. */
const RULE_START = new RegExp(`^type\\s*==\\s*"(${ENDPOINT_TYPES.map((type) => type.replace(".", "\\.")).join("|")})"`);

const rule = z.string().superRefine((source, context) => {
  if (!RULE_START.test(source))
    return context.addIssue({
      code: "custom",
      message: 'expected a rule that begins with a type: type == "port" && …',
    });
  addErrorOf(() => new EndpointRule(source), [], context);
});

/** Texts, each with a template or without. */
const attributes = z.record(z.string().min(1), z.string()).superRefine(checkTemplates);

const values = z
  .record(z.string(), z.unknown())
  .nullish()
  .transform((written) => written ?? {});

const template = z.strictObject({
  rule: rule.meta({ description: 'The endpoints that get such a receiver: type == "port" && port == 6379.' }),
  config: values
    .superRefine(checkTemplates)
    .meta({ description: "The receiver's config. Expressions in backticks are replaced: `endpoint`." }),
  resource_attributes: attributes.default({}).meta({ description: "Resource attributes of what this receiver reads." }),
});

const POD_NAMES = { "k8s.pod.name": "`name`", "k8s.pod.uid": "`uid`", "k8s.namespace.name": "`namespace`" };
const CONTAINER_NAMES = {
  "k8s.pod.name": "`pod.name`",
  "k8s.pod.uid": "`pod.uid`",
  "k8s.namespace.name": "`pod.namespace`",
  "k8s.container.name": "`container_name`",
  "container.id": "`container_id`",
  "container.image.name": "`container_image`",
};

const DEFAULT_ATTRIBUTES: Readonly<Record<EndpointType, Readonly<Record<string, string>>>> = {
  pod: POD_NAMES,
  port: CONTAINER_NAMES,
  "pod.container": CONTAINER_NAMES,
  "k8s.service": { "k8s.namespace.name": "`namespace`" },
  "k8s.ingress": { "k8s.namespace.name": "`namespace`" },
  "k8s.node": { "k8s.node.name": "`name`", "k8s.node.uid": "`uid`" },
  hostport: {},
  container: { "container.name": "`name`", "container.image.name": "`image`" },
};

const FILE_LOG_CONFIG = {
  include_file_path: true,
  include_file_name: false,
  operators: [{ id: "container-parser", type: "container" }],
};

const names = z
  .array(z.string().min(1))
  .nullish()
  .transform((list) => list ?? []);

const discovery = z.strictObject({
  enabled: z.boolean().default(false).meta({
    description: "Starts receivers that annotations of pods ask for: io.opentelemetry.discovery.metrics/enabled.",
  }),
  ignore_receivers: names.meta({ description: "Types of receivers that annotations cannot start." }),
  default_annotations: z
    .record(z.string(), z.string())
    .default({})
    .meta({ description: "Annotations of pods that do not have them." }),
  default_file_log_config: values
    .transform((written) => ({ ...FILE_LOG_CONFIG, ...written }))
    .meta({ description: "Keys of file_log for logs that annotations ask for." }),
});

const attributesByType = Object.fromEntries(
  ENDPOINT_TYPES.map((type) => [
    type,
    attributes
      .default(DEFAULT_ATTRIBUTES[type])
      .meta({ description: `Resource attributes of endpoints of type ${type}.` }),
  ]),
) as Record<EndpointType, z.ZodDefault<typeof attributes>>;

export const receiverCreatorSchema = z.strictObject({
  watch_observers: z
    .array(extensionReference("observer"))
    .nullish()
    .transform((list) => list ?? [])
    .meta({ description: "The ids of the extensions that find endpoints, such as k8s_observer." }),
  receivers: z
    .record(z.string().regex(/^[A-Za-z]\w*(\/\S+)?$/, "expected type or type/name"), template)
    .nullish()
    .transform((written) => written ?? {})
    .meta({ privileged: true, description: "Receivers that are started for endpoints, each under its id." }),
  resource_attributes: section(z.strictObject(attributesByType))
    .prefault({})
    .meta({ description: "Resource attributes by type of endpoint." }),
  discovery: section(discovery).prefault({}).meta({ description: "Receivers that annotations of pods ask for." }),
});

export type ReceiverCreatorConfig = z.infer<typeof receiverCreatorSchema>;

function checkTemplates(value: unknown, context: z.RefinementCtx, path: (string | number)[] = []): void {
  if (typeof value === "string") addErrorOf(() => checkTemplate(value), path, context);
  else if (typeof value === "object" && value !== null)
    for (const [key, item] of Object.entries(value))
      checkTemplates(item, context, [...path, Array.isArray(value) ? Number(key) : key]);
}

function addErrorOf(check: () => unknown, path: (string | number)[], context: z.RefinementCtx): void {
  try {
    check();
  } catch (error) {
    context.addIssue({ code: "custom", path, message: (error as Error).message });
  }
}
