import { z } from "zod";
import { tlsClient } from "#net";
import { metricKeys, resourceAttributeKey, scrapingKeys } from "#receiving";
import { compilePattern } from "#text/patterns";
import { duration, ignored, section } from "../../plugin.js";
import { parseDockerEndpoint } from "./docker-api.js";
import { DOCKER_METRICS } from "./metrics.js";

const labels = (what: string) =>
  z
    .record(z.string(), z.string())
    .nullish()
    .transform((map) => map ?? {})
    .meta({ description: `${what} of a container, mapped to attributes of its resource.` });

export const dockerStatsSchema = z.strictObject({
  endpoint: z
    .string()
    .refine(
      (text) => parseDockerEndpoint(text) !== undefined,
      "expected unix:///var/run/docker.sock, tcp://host:2375 or a URL",
    )
    .default("unix:///var/run/docker.sock")
    .meta({ description: "Where Docker listens." }),
  ...scrapingKeys(10_000),
  timeout: duration().default(5000).meta({ description: "How long Docker may take to answer; 0 means an hour." }),
  api_version: z
    .union([
      z.string().regex(/^\d+\.\d+$/, "expected a version such as 1.44"),
      z.number().transform((version) => version.toFixed(2)),
    ])
    .optional()
    .meta({
      description:
        "The version of Docker's API. Default, and if Docker considers it too old: the newest one Docker supports.",
    }),
  excluded_images: z
    .array(z.string())
    .nullish()
    .transform((filters) => filters ?? [])
    .superRefine((filters, context) => {
      for (const [index, filter] of filters.entries()) {
        try {
          imageFilter([filter]);
        } catch (error) {
          context.addIssue({ code: "custom", path: [index], message: (error as Error).message });
        }
      }
    })
    .meta({
      description:
        "Images whose containers are left out: names, globs or /patterns/; a leading ! leaves out all others.",
    }),
  container_labels_to_metric_labels: labels("Labels"),
  env_vars_to_metric_labels: labels("Environment variables"),
  tls: section(tlsClient()).optional().meta({ description: "Certificates, for https." }),
  stream_stats: ignored("Docker is queried at each collection"),
  provide_per_core_cpu_metrics: ignored("enable container.cpu.usage.percpu under metrics"),
  ...metricKeys(DOCKER_METRICS),
  resource_attributes: section(
    z.strictObject({
      "container.runtime": resourceAttributeKey(true),
      "container.hostname": resourceAttributeKey(true),
      "container.id": resourceAttributeKey(true),
      "container.image.name": resourceAttributeKey(true),
      "container.name": resourceAttributeKey(true),
      "container.image.id": resourceAttributeKey(false),
      "container.command_line": resourceAttributeKey(false),
    }),
  )
    .prefault({})
    .meta({ description: "Which attributes resources have." }),
});

export type DockerStatsConfig = z.infer<typeof dockerStatsSchema>;

/**
 * Returns a predicate for image names. A filter is a name, a glob with * and ?, or a regular expression between
 * slashes; a leading ! negates it. Throws if a regular expression is invalid.
 */
export function imageFilter(filters: readonly string[]): (image: string) => boolean {
  const tests = filters.map((filter) => {
    const isNegated = filter.startsWith("!");
    const matches = matcherOf(isNegated ? filter.slice(1) : filter);
    return (image: string) => matches(image) !== isNegated;
  });
  return (image) => tests.some((test) => test(image));
}

function matcherOf(filter: string): (image: string) => boolean {
  const pattern = /^\/(.*)\/$/.exec(filter)?.[1] ?? (/[*?]/.test(filter) ? globPattern(filter) : undefined);
  if (pattern === undefined) return (image) => image === filter;
  const compiled = compilePattern(pattern);
  return (image) => compiled.test(image);
}

function globPattern(glob: string): string {
  return `^${glob
    .replace(/[.+^${}()|[\]\\]/g, "\\$&")
    .replaceAll("*", ".*")
    .replaceAll("?", ".")}$`;
}
