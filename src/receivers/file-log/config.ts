import { z } from "zod";
import { operatorsSchema, templateTexts } from "#logs";
import { textEncoding } from "#logs/entries";
import { compilePattern } from "#text/patterns";
import { byteSize, duration, ignored, section } from "../../plugin.js";
import { globProblem } from "./find-files.js";

const glob = z.string().superRefine((pattern, context) => {
  const problem = globProblem(pattern);
  if (problem !== undefined) context.addIssue({ code: "custom", message: `not a pattern for paths: ${problem}` });
});

const globs = z.union([glob.transform((one) => [one]), z.array(glob)]);

/** A pattern in RE2 syntax. The schema checks it and keeps it as text. */
function pattern(prefix = "") {
  return z.string().superRefine((source, context) => {
    try {
      compilePattern(prefix + source);
    } catch (error) {
      context.addIssue({ code: "custom", message: `not a pattern: ${(error as Error).message}` });
    }
  });
}

function flag(description: string, by = false) {
  return z.boolean().default(by).meta({ description });
}

const multiline = z
  .strictObject({
    line_start_pattern: pattern("(?m)").default("").meta({ description: "Where a record begins, in RE2 syntax." }),
    line_end_pattern: pattern("(?m)").default("").meta({ description: "Where a record ends, in RE2 syntax." }),
    omit_pattern: flag("Remove the text that the pattern matched from the record."),
  })
  .refine(
    ({ line_start_pattern: start, line_end_pattern: end }) => start === "" || end === "",
    "expected only one of line_start_pattern and line_end_pattern",
  );

const header = z.strictObject({
  pattern: pattern().meta({ description: "Lines at the beginning of a file that match this are its header." }),
  metadata_operators: operatorsSchema
    .refine((list) => list.length > 0, "expected at least one operator")
    .refine((list) => list.every(({ type }) => type !== "filter"), "expected no filter")
    .meta({ description: "Operators that make attributes of these lines." }),
});

const sortBy = z
  .strictObject({
    sort_type: z
      .enum(["numeric", "alphabetical", "timestamp", "mtime"])
      .meta({ description: "How the files are ordered." }),
    regex_key: z.string().default("").meta({ description: "The named group of `regex` that is compared." }),
    ascending: flag("The lowest first; else the highest."),
    layout: z.string().default("").meta({ description: "How a timestamp is written, with strptime's directives." }),
    location: z.string().default("").meta({ description: "The time zone of timestamps. Default: UTC." }),
  })
  .refine(({ sort_type, regex_key }) => sort_type === "mtime" || regex_key !== "", {
    path: ["regex_key"],
    message: "expected the name of a group of `regex`; only mtime needs none",
  });

const orderingCriteria = z.strictObject({
  regex: pattern().default("").meta({ description: "A pattern whose named groups extract the sort keys from a path." }),
  top_n: z
    .number()
    .int()
    .nonnegative()
    .optional()
    .meta({ description: "How many files of each group are read; 0 means all. Default: 1 if `sort_by` is given." }),
  sort_by: z.array(sortBy).default([]).meta({ description: "The sort keys, most important first." }),
  group_by: pattern()
    .default("")
    .meta({ description: "Files for which the first group of this pattern is the same are sorted together." }),
});

const values = templateTexts();

/** The keys that say which files are read, and how they are cut into records. */
const fileKeys = {
  include: globs
    .refine((list) => list.length > 0, "expected at least one pattern")
    .meta({
      description: "Patterns for the paths of the files: `*`, `?`, `[a-z]`, `{one,other}`, `**` for folders.",
    }),
  exclude: globs.default([]).meta({ description: "Patterns for the paths of files to exclude." }),
  exclude_older_than: duration()
    .default(0)
    .meta({ description: "Skip files last modified longer ago than this; 0 skips none." }),
  follow_symlinks: z.boolean().optional().meta({
    description:
      "Follow symbolic links to any place. Default: true, but false if the agent runs as root; then links may only lead into the folders of `include`, into `symlink_roots`, and from Kubernetes' folders of logs to each other.",
  }),
  symlink_roots: z
    .array(z.string().startsWith("/", "expected an absolute path"))
    .default([])
    .meta({ description: "Further folders that links may lead into if `follow_symlinks` is false." }),
  start_at: z.enum(["beginning", "end"]).default("end").meta({
    description:
      "Where to start in files that exist when a pattern is first watched. Files that appear later, even while the agent is down, are read from the start.",
  }),
  multiline: section(multiline)
    .optional()
    .meta({ description: "For records that do not consist of exactly one line." }),
  force_flush_period: duration().default(500).meta({
    description: "An unfinished line becomes a record after this time without new data; 0 means never.",
  }),
  encoding: z
    .string()
    .default("utf-8")
    .refine(
      (name) => textEncoding(name) !== undefined,
      "expected nop, utf-8, utf-8-raw, utf-16le, utf-16be, windows-1252, or another name that Node.js's TextDecoder knows",
    )
    .meta({ description: "The encoding of the text. `nop`: no text, bodies are bytes." }),
  preserve_leading_whitespaces: flag("Keep white space at the start of a record."),
  preserve_trailing_whitespaces: flag("Keep white space at the end of a record."),
  include_file_name: flag("Add the attribute `log.file.name`.", true),
  include_file_path: flag("Add the attribute `log.file.path`."),
  include_file_name_resolved: flag("Add `log.file.name_resolved`: links are followed."),
  include_file_path_resolved: flag("Add `log.file.path_resolved`: links are followed."),
  include_file_owner_name: flag("Add `log.file.owner.name`."),
  include_file_owner_group_name: flag("Add `log.file.owner.group.name`."),
  include_file_permissions: flag("Add `log.file.permissions`, as three octal digits."),
  include_file_record_number: flag(
    "Add `log.file.record_number`: which record of the file it is, from 1; empty ones count.",
  ),
  include_file_record_offset: flag("Add `log.file.record_offset`: the byte at which it begins."),
  poll_interval: duration()
    .refine((ms) => ms > 0, "expected more than 0")
    .default(200)
    .meta({
      description:
        "How often to check for new files and new data. With thousands of files the checks are less frequent.",
    }),
  fingerprint_size: byteSize()
    .refine((size) => size >= 16, "expected at least 16 bytes")
    .default(1000)
    .meta({ description: "How many first bytes identify a file." }),
  initial_buffer_size: ignored("files are read in pieces of 1 MiB, into memory that is reused"),
  max_log_size: maxLogSize(1024 * 1024),
  max_log_size_behavior: z.enum(["split", "truncate"]).default("split").meta({
    description: "How longer records are handled: split into several, or truncated.",
  }),
  max_concurrent_files: z.number().int().positive().default(1024).meta({
    description: "How many files are kept open; others are opened when they have grown.",
  }),
  max_batches: ignored("all files are checked in every round, whatever their number"),
  delete_after_read: flag("Delete files when all of their records are safe. Needs `start_at: beginning`."),
  acquire_fs_lock: ignored("files are read while others write them, and nothing is locked"),
  file_cache_advise: ignored("the system is not told what to cache"),
  skip_unmodified_files: ignored("files whose size and time have not changed are never opened"),
  storage: z.string().nullish().meta({
    description: "Accepted for compatibility with the Collector: offsets are always kept, in `offsets_directory`.",
  }),
  offsets_directory: z
    .string()
    .min(1)
    .default("./data/offsets")
    .meta({ privileged: true, description: "The directory for read offsets; each receiver has its own file there." }),
  header: section(header).optional().meta({
    description: "The first lines of every file, as attributes of its records. Needs `start_at: beginning`.",
  }),
  ordering_criteria: section(orderingCriteria).optional().meta({ description: "Selects which of the files are read." }),
  compression: z.enum(["", "gzip", "auto"]).default("").meta({
    description: "`gzip`: all files are gzip; `auto`: those that begin like gzip are.",
  }),
  polls_to_archive: ignored("offsets of deleted files are remembered for a day"),
  on_truncate: z.enum(["ignore", "read_whole_file", "read_new"]).default("ignore").meta({
    description:
      "What to do with a file that got shorter and has the same first bytes: wait until it is longer again, read it from the start, or continue at its end. A file with other first bytes is a new file.",
  }),
};

export const fileLogSchema = checked(
  z.strictObject({
    ...fileKeys,
    attributes: section(values).default({}).meta({ description: "Attributes of every record." }),
    resource: section(values).default({}).meta({ description: "Attributes of the resource of all records." }),
    operators: operatorsSchema
      .default([])
      .meta({ description: "Operators that process records before they leave the receiver." }),
    retry_on_failure: ignored("temporarily refused records are always retried until they are accepted"),
    id: ignored("the receiver's id is written before the colon"),
    type: ignored("the receiver's type already says it"),
    output: ignored("the output of the last operator is the pipeline"),
  }),
);

export type FileLogConfig = z.infer<typeof fileLogSchema>;

const LINES = "a line is a request, which may have many records";

/** The keys of `otlp_json_file`. Its lines are longer than those of logs. */
export const otlpJsonFileSchema = checked(
  z.strictObject({
    ...fileKeys,
    max_log_size: maxLogSize(16 * 1024 * 1024),
    include_file_record_number: ignored(LINES),
    include_file_record_offset: ignored(LINES),
    replay_file: z
      .boolean()
      .default(false)
      .refine((isOn) => !isOn, "expected false: every file is read once")
      .meta({ description: "Read files repeatedly; not supported." }),
  }),
);

export type OtlpJsonFileConfig = z.infer<typeof otlpJsonFileSchema>;

function maxLogSize(by: number) {
  return byteSize()
    .refine((size) => size > 0 && size <= 512 * 1024 * 1024, "expected more than 0 and at most 512MiB")
    .default(by)
    .meta({ description: "The longest record." });
}

interface CheckedKeys {
  readonly encoding: string;
  readonly multiline?: z.infer<typeof multiline> | undefined;
  readonly start_at: string;
  readonly header?: object | undefined;
  readonly delete_after_read: boolean;
}

/** Checks keys that depend on each other. */
function checked<T extends z.ZodType<CheckedKeys>>(schema: T): T {
  return schema.superRefine(({ encoding, multiline: cut, start_at, header: lines, delete_after_read }, context) => {
    const problem = (key: string, message: string) => context.addIssue({ code: "custom", path: [key], message });
    if (textEncoding(encoding)?.isBinary && (cut?.line_start_pattern ?? "") + (cut?.line_end_pattern ?? "") !== "")
      problem("multiline", "with the encoding nop there are no lines");
    if (start_at === "beginning") return;
    const message = "needs start_at: beginning";
    if (lines !== undefined) problem("header", message);
    if (delete_after_read) problem("delete_after_read", message);
  });
}
