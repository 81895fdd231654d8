import { z } from "zod";
import { httpClientKeys, httpUrl } from "#net";
import { wordOrNone } from "#net/otlp";
import { caseInsensitiveEnum, deprecated, ignored, secret, section, unsupported } from "../../plugin.js";
import { LINE_FORMATS } from "./stream-labels.js";

const flag = (label: string, meaning: string) =>
  z
    .boolean()
    .default(true)
    .meta({ description: `The label ${label}: ${meaning}.` });

const attributeLabels = (owner: string) =>
  z
    .record(z.string(), z.string().nullable())
    .nullish()
    .meta({ description: `Attributes of the ${owner}, and the labels they become; empty for one of the same name.` });

const TENANT =
  "write the tenant as the header X-Scope-OrgID, name an attribute by the hint loki.tenant, or use headers_setter";

export const lokiSchema = z.strictObject({
  endpoint: httpUrl().meta({ description: "The URL for pushes, such as http://loki:3100/loki/api/v1/push." }),
  ...httpClientKeys(),
  compression: wordOrNone(caseInsensitiveEnum(["snappy"]))
    .optional()
    .meta({ description: "Always snappy." }),
  compression_params: ignored("snappy has no levels"),
  default_labels_enabled: section(
    z.strictObject({
      exporter: flag("exporter", "OTLP"),
      job: flag("job", "service.namespace/service.name"),
      instance: flag("instance", "service.instance.id"),
      level: flag("level", "the severity"),
    }),
  )
    .optional()
    .meta({ description: "Labels that every record gets." }),
  format: deprecated(
    caseInsensitiveEnum([...LINE_FORMATS, "body"])
      .optional()
      .meta({ description: "The format of lines if no hint names one; body means raw." }),
    "set the attribute loki.format, for instance with the processor resource",
  ),
  labels: deprecated(
    section(
      z.strictObject({
        attributes: attributeLabels("record"),
        resource: attributeLabels("resource"),
        record: ignored("labels for trace and span ids would create a stream for every trace; the ids are in the line"),
      }),
    )
      .optional()
      .meta({ description: "Labels in addition to those of hints." }),
    "name attributes with the hints loki.attribute.labels and loki.resource.labels",
  ),
  tenant_id: deprecated(
    secret().optional().meta({ description: "The tenant of records without a hint." }),
    "write the header X-Scope-OrgID under headers",
  ),
  tenant: unsupported(TENANT),
});

export type LokiConfig = z.infer<typeof lokiSchema>;
