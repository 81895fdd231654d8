import { z } from "zod";
import { operatorsSchema } from "#logs";
import { textEncoding } from "#logs/entries";
import { compilePattern } from "#text/patterns";
import { byteSize, duration, ignored, section, unsupported } from "../../plugin.js";
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
    omit_pattern: flag("Leave out of the record what the pattern has matched."),
  })
  .refine(
    ({ line_start_pattern: start, line_end_pattern: end }) => start === "" || end === "",
    "expected only one of line_start_pattern and line_end_pattern",
  );

const sortBy = z.strictObject({
  sort_type: z
    .enum(["numeric", "alphabetical", "timestamp", "mtime"])
    .meta({ description: "How the files are ordered." }),
  regex_key: z.string().default("").meta({ description: "The named group of `regex` that is compared." }),
  ascending: flag("The lowest first; else the highest."),
  layout: z.string().default("").meta({ description: "How a timestamp is written, with strptime's directives." }),
  location: z.string().default("").meta({ description: "The time zone of timestamps; UTC unless told." }),
});

const orderingCriteria = z.strictObject({
  regex: pattern().default("").meta({ description: "Finds in a path what it is ordered by, as named groups." }),
  top_n: z
    .number()
    .int()
    .nonnegative()
    .optional()
    .meta({ description: "How many files are read, of each group; 0 for all. Default: 1 when `sort_by` is given." }),
  sort_by: z.array(sortBy).default([]).meta({ description: "What is compared, the first thing first." }),
  group_by: pattern().default("").meta({ description: "Files with the same first group of it are ordered together." }),
});

const values = z.record(z.string(), z.union([z.string(), z.number(), z.boolean()]).transform(String));

export const fileLogSchema = z
  .strictObject({
    include: globs
      .refine((list) => list.length > 0, "expected at least one pattern")
      .meta({
        description: "Patterns for the paths of the files: `*`, `?`, `[a-z]`, `{one,other}`, `**` for folders.",
      }),
    exclude: globs.default([]).meta({ description: "Patterns for the paths of files that are not read after all." }),
    exclude_older_than: duration()
      .default(0)
      .meta({ description: "Leave out files that were last written longer ago than this; 0 leaves out none." }),
    start_at: z.enum(["beginning", "end"]).default("end").meta({
      description:
        "Where to begin with the files that are there when patterns are first watched. What appears later, also while the agent is down, is read from its beginning.",
    }),
    multiline: section(multiline).optional().meta({ description: "Records that are more, or less, than a line." }),
    force_flush_period: duration().default(500).meta({
      description: "A line without an end becomes a record when nothing has come for this long; 0: never.",
    }),
    encoding: z
      .string()
      .default("utf-8")
      .refine(
        (name) => textEncoding(name) !== undefined,
        "expected nop, utf-8, utf-8-raw, utf-16le, utf-16be, ascii, or another name that Node.js's TextDecoder knows",
      )
      .meta({ description: "How the text is written in bytes. `nop`: no text, bodies are bytes." }),
    preserve_leading_whitespaces: flag("Keep the white space in front of a record."),
    preserve_trailing_whitespaces: flag("Keep the white space behind a record."),
    include_file_name: flag("Add the attribute `log.file.name`.", true),
    include_file_path: flag("Add the attribute `log.file.path`."),
    include_file_name_resolved: flag("Add `log.file.name_resolved`: links are followed."),
    include_file_path_resolved: flag("Add `log.file.path_resolved`: links are followed."),
    include_file_owner_name: flag("Add `log.file.owner.name`."),
    include_file_owner_group_name: flag("Add `log.file.owner.group.name`."),
    include_file_permissions: flag("Add `log.file.permissions`, as three octal digits."),
    include_file_record_number: flag("Add `log.file.record_number`: which record of the file it is, from 1."),
    include_file_record_offset: flag("Add `log.file.record_offset`: the byte at which it begins."),
    poll_interval: duration()
      .refine((ms) => ms > 0, "expected more than 0")
      .default(200)
      .meta({
        description: "How often to look for files and for what was written. With thousands of files less often.",
      }),
    fingerprint_size: byteSize()
      .refine((size) => size >= 16, "expected at least 16 bytes")
      .default(1000)
      .meta({ description: "How many of its first bytes a file is told apart by." }),
    initial_buffer_size: ignored("files are read in pieces of 1 MiB, into memory that is used again"),
    max_log_size: byteSize()
      .refine((size) => size > 0 && size <= 512 * 1024 * 1024, "expected more than 0 and at most 512MiB")
      .default(1024 * 1024)
      .meta({ description: "The longest record." }),
    max_log_size_behavior: z.enum(["split", "truncate"]).default("split").meta({
      description: "What becomes of a longer one: several records, or the first of them without the rest.",
    }),
    max_concurrent_files: z.number().int().positive().default(1024).meta({
      description: "How many files are held open; others are opened when they have grown.",
    }),
    max_batches: ignored("all files are looked at in every round, whatever their number"),
    delete_after_read: unsupported("files are never deleted: let logrotate do it"),
    acquire_fs_lock: ignored("files are read while others write them, and nothing is locked"),
    file_cache_advise: ignored("the system is not told what to cache"),
    skip_unmodified_files: ignored("files whose size and time have not changed are never opened"),
    attributes: section(values).default({}).meta({ description: "Attributes of every record." }),
    resource: section(values).default({}).meta({ description: "Attributes of the resource of all records." }),
    operators: operatorsSchema
      .default([])
      .meta({ description: "What is done to records before they leave the receiver." }),
    storage: z.string().nullish().meta({
      description: "Accepted for the Collector's sake: offsets are always kept, in `offsets_directory`.",
    }),
    offsets_directory: z
      .string()
      .min(1)
      .default("./data/offsets")
      .meta({ description: "Where it is kept how far files were read, in a file of the receiver's own." }),
    header: unsupported("lines at the begin of files are records like others: filter them with an operator"),
    retry_on_failure: ignored("what is refused for now is always tried again, until it is taken"),
    ordering_criteria: section(orderingCriteria)
      .optional()
      .meta({ description: "Which of the files are read, when not all of them." }),
    compression: z.enum(["", "gzip", "auto"]).default("").meta({
      description: "`gzip`: all files are gzip; `auto`: those that begin like gzip are.",
    }),
    polls_to_archive: ignored("what was read of files that are gone is remembered for a day"),
    on_truncate: z.enum(["ignore", "read_whole_file", "read_new"]).default("ignore").meta({
      description:
        "What to do with a file that is shorter than it was and begins as it did: wait until it is longer again, read it anew, or go on at its end. One that begins differently is a new file.",
    }),
    id: ignored("the receiver has its id in front of the colon"),
    type: ignored("the receiver's type says it"),
    output: ignored("the output of the last operator is the pipeline"),
  })
  .refine(
    ({ encoding, multiline: cut }) =>
      !textEncoding(encoding)?.isBinary || (cut?.line_start_pattern ?? "") + (cut?.line_end_pattern ?? "") === "",
    { path: ["multiline"], message: "with the encoding nop there are no lines" },
  );

export type FileLogConfig = z.infer<typeof fileLogSchema>;
