import { z } from "zod";
import { metricKeys, resourceAttributeKey, scrapingKeys } from "#receiving";
import { compilePattern } from "#text/patterns";
import { duration, ignored, section } from "../../plugin.js";
import { HOST_METRICS, SCRAPER_NAMES, type ScraperName } from "./metrics.js";

/** Names to include or exclude: literal names or patterns. */
function filter(key: string, what: string) {
  return section(
    z
      .strictObject({
        [key]: z
          .array(z.string())
          .default([])
          .meta({ description: `Names of ${what}, or patterns of them.` }),
        match_type: z.enum(["strict", "regexp"]).default("strict").meta({ description: "What they are." }),
        regexp: ignored("patterns are not cached apart"),
      })
      .transform(({ match_type, ...rest }) => ({ names: rest[key] as string[], isPattern: match_type === "regexp" }))
      .superRefine(({ names, isPattern }, context) => {
        if (!isPattern) return;
        for (const [index, name] of names.entries()) {
          try {
            compilePattern(name);
          } catch (error) {
            context.addIssue({ code: "custom", path: [key, index], message: (error as Error).message });
          }
        }
      }),
  ).optional();
}

const included = (key: string, what: string) => filter(key, what).meta({ description: `Only these ${what}.` });
const excluded = (key: string, what: string) => filter(key, what).meta({ description: `Not these ${what}.` });

const MUTED_REASON = "process data that cannot be read is always left out silently";

const PROCESS_ATTRIBUTES = [
  "process.pid",
  "process.parent_pid",
  "process.executable.name",
  "process.executable.path",
  "process.command",
  "process.command_line",
  "process.owner",
  "process.cgroup",
] as const;

const scraperSchemas = {
  cpu: z.strictObject({ ...metricKeys(HOST_METRICS.cpu) }),
  load: z.strictObject({
    ...metricKeys(HOST_METRICS.load),
    cpu_average: z.boolean().default(false).meta({ description: "Divide by the number of CPUs." }),
  }),
  memory: z.strictObject({ ...metricKeys(HOST_METRICS.memory) }),
  disk: z.strictObject({
    ...metricKeys(HOST_METRICS.disk),
    include: included("devices", "devices"),
    exclude: excluded("devices", "devices"),
  }),
  filesystem: z.strictObject({
    ...metricKeys(HOST_METRICS.filesystem),
    include_devices: included("devices", "devices"),
    exclude_devices: excluded("devices", "devices"),
    include_fs_types: included("fs_types", "types of file systems"),
    exclude_fs_types: excluded("fs_types", "types of file systems"),
    include_mount_points: included("mount_points", "mount points"),
    exclude_mount_points: excluded("mount_points", "mount points"),
    include_virtual_filesystems: z
      .boolean()
      .default(false)
      .meta({ description: "Include file systems without a device, such as tmpfs." }),
  }),
  network: z.strictObject({
    ...metricKeys(HOST_METRICS.network),
    include: included("interfaces", "interfaces"),
    exclude: excluded("interfaces", "interfaces"),
  }),
  paging: z.strictObject({ ...metricKeys(HOST_METRICS.paging) }),
  processes: z.strictObject({ ...metricKeys(HOST_METRICS.processes) }),
  process: z.strictObject({
    ...metricKeys(HOST_METRICS.process),
    include: included("names", "processes"),
    exclude: excluded("names", "processes"),
    scrape_process_delay: duration().default(0).meta({ description: "Processes younger than this are left out." }),
    mute_process_all_errors: ignored(MUTED_REASON),
    mute_process_name_error: ignored(MUTED_REASON),
    mute_process_exe_error: ignored(MUTED_REASON),
    mute_process_io_error: ignored(MUTED_REASON),
    mute_process_user_error: ignored(MUTED_REASON),
    mute_process_cgroup_error: ignored(MUTED_REASON),
    resource_attributes: section(
      z.strictObject(
        Object.fromEntries(PROCESS_ATTRIBUTES.map((name) => [name, resourceAttributeKey(name !== "process.cgroup")])),
      ),
    )
      .prefault({})
      .meta({ description: "Which attributes the resource of a process has." }),
  }),
  system: z.strictObject({ ...metricKeys(HOST_METRICS.system) }),
};

export type ScraperConfigs = { [Name in ScraperName]: z.infer<(typeof scraperSchemas)[Name]> };

const scraperKeys = Object.fromEntries(
  SCRAPER_NAMES.map((name) => [
    name,
    section(scraperSchemas[name])
      .optional()
      .meta({ description: `Collects ${name}.` }),
  ]),
);

export const hostMetricsSchema = z.strictObject({
  ...scrapingKeys(60_000),
  timeout: ignored("a collection takes as long as reading /proc does"),
  metadata_collection_interval: duration().default(300_000).meta({
    description: "How often a pipeline of logs gets an event that there is this host; 0 means only at the start.",
  }),
  root_path: z.string().default("").meta({
    harmless: true,
    description: "Where the machine's root file system is mounted, for an agent in a container: /hostfs.",
  }),
  scrapers: section(
    z.strictObject({
      ...scraperKeys,
      nfs: ignored("what NFS counts is not collected"),
    }),
  )
    .prefault({})
    .refine((scrapers) => Object.keys(scrapers).length > 0, "expected a scraper, such as cpu")
    .transform((scrapers) => scrapers as Partial<ScraperConfigs>)
    .meta({ description: "The scrapers to run, each with its own keys." }),
});

export type HostMetricsConfig = z.infer<typeof hostMetricsSchema>;
