import { z } from "zod";
import { httpClientKeys } from "#net";
import { caseInsensitiveEnum, secret } from "../../../plugin.js";
import { allowPrivateAddresses, mayReach, PRIVATE_ADDRESS } from "../config.js";

/** Severities by name, and the lowest number of each. */
export const MIN_SEVERITIES = { trace: 1, debug: 5, info: 9, warn: 13, error: 17, fatal: 21 } as const;

const EXPECTED_DSN = "expected a DSN such as https://PUBLIC_KEY@o1.ingest.sentry.io/2";

export const sentrySchema = z
  .strictObject({
    dsn: secret()
      .refine((text) => parseDsn(text) !== undefined, EXPECTED_DSN)
      .meta({ description: "Where events go, as the project's settings in Sentry show it." }),
    environment: z.string().optional().meta({
      description: "The environment of all events. Default: that of the resource (deployment.environment.name).",
    }),
    release: z
      .string()
      .optional()
      .meta({ description: "The release of all events. Default: that of the resource (service.version)." }),
    min_severity: caseInsensitiveEnum(Object.keys(MIN_SEVERITIES) as ["trace", ...(keyof typeof MIN_SEVERITIES)[]])
      .default("error")
      .meta({
        description:
          "Log records below this severity and without an exception are not sent. Spans are sent if they have the status error or exceptions.",
      }),
    tags: z.record(z.string(), z.string()).optional().meta({ description: "Tags of all events." }),
    tag_attributes: z
      .array(z.string())
      .default(["service.name", "service.namespace", "k8s.namespace.name", "http.route", "event.name"])
      .meta({ description: "Attributes of the record or its resource that become tags, by which Sentry searches." }),
    ...allowPrivateAddresses,
    ...httpClientKeys(),
  })
  .superRefine((config, context) => {
    const dsn = parseDsn(config.dsn);
    if (dsn !== undefined && !mayReach(dsn.url, config))
      context.addIssue({ code: "custom", path: ["dsn"], message: PRIVATE_ADDRESS });
  });

export type SentryConfig = z.infer<typeof sentrySchema>;

/** The parts of a DSN: the URL that accepts envelopes, and the key for the header. */
interface Dsn {
  readonly url: URL;
  readonly publicKey: string;
}

/** Returns undefined if the text is not a DSN. */
export function parseDsn(text: string): Dsn | undefined {
  if (!URL.canParse(text)) return undefined;
  const { protocol, username, host, pathname } = new URL(text);
  const [, prefix, project] = /^(.*)\/([A-Za-z0-9_-]+)\/?$/.exec(pathname) ?? [];
  if (!/^https?:$/.test(protocol) || !/^[A-Za-z0-9]+$/.test(username) || project === undefined) return undefined;
  return { url: new URL(`${protocol}//${host}${prefix}/api/${project}/envelope/`), publicKey: username };
}
