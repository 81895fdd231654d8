import { isAbsolute } from "node:path";
import { z } from "zod";
import { operatorsSchema, templateTexts } from "#logs";
import { ignored, section } from "../../plugin.js";

function flag(description: string) {
  return z.boolean().default(false).meta({ description });
}

const texts = (description: string) =>
  z
    .array(z.string().min(1))
    .nullish()
    .transform((list) => list ?? [])
    .meta({ description });

const values = templateTexts();
const match = z.record(z.string().regex(/^[_A-Z]+$/, "expected the name of a field such as _SYSTEMD_UNIT"), z.string());

export const journaldSchema = z
  .strictObject({
    journalctl_path: z
      .string()
      .default("journalctl")
      .refine((path) => path.trim() !== "", "expected the name or the path of a program")
      .meta({ privileged: true, description: "The program that reads the journal." }),
    root_path: z
      .string()
      .default("")
      .refine((path) => path === "" || isAbsolute(path), "expected an absolute path")
      .meta({
        privileged: true,
        description: "A directory in which the program runs with chroot, which needs root's rights.",
      }),
    directory: z.string().min(1).nullish().meta({
      harmless: true,
      description: "The directory with the files of the journal. Default: the machine's own journal.",
    }),
    files: texts("Files of the journal, or patterns of their names, instead of a directory.").meta({ harmless: true }),
    start_at: z
      .enum(["end", "beginning"])
      .default("end")
      .meta({ description: "Where reading begins if no position is known." }),
    units: texts("Only entries of these units."),
    identifiers: texts("Only entries with these syslog identifiers."),
    priority: z
      .union([z.string(), z.number().transform(String)])
      .default("info")
      .meta({ description: "Only entries of this priority or a more important one, or of a range such as err..info." }),
    matches: z
      .array(match)
      .nullish()
      .transform((list) => list ?? [])
      .meta({ description: "Only entries with all fields of one of these." }),
    grep: z.string().default("").meta({ description: "Only entries whose MESSAGE matches this PCRE2 pattern." }),
    dmesg: flag("Only messages of the kernel since the machine's start."),
    namespace: z.string().default("").meta({ description: "The namespace of the journal." }),
    merge: flag("Entries of the journals of other machines too."),
    all: flag("Long and unprintable fields are read in full."),
    convert_message_bytes: flag("A MESSAGE that is written as a list of bytes becomes text."),
    include_log_record_original: flag("Add the entry as journalctl wrote it, as log.record.original."),
    attributes: section(values).default({}).meta({ description: "Attributes of every record." }),
    resource: section(values).default({}).meta({ description: "Attributes of the resource of all records." }),
    operators: operatorsSchema
      .default([])
      .meta({ description: "Operators that process records before they leave the receiver." }),
    storage: z.string().nullish().meta({
      description:
        "Accepted for compatibility with the Collector: the position is always kept, in `offsets_directory`.",
    }),
    offsets_directory: z
      .string()
      .min(1)
      .default("./data/offsets")
      .meta({ privileged: true, description: "The directory for the position; each receiver has its own file there." }),
    retry_on_failure: ignored("temporarily refused records are always retried until they are accepted"),
    id: ignored("the receiver's id is written before the colon"),
    type: ignored("the receiver's type already says it"),
    output: ignored("the output of the last operator is the pipeline"),
  })
  .superRefine(({ root_path, journalctl_path }, context) => {
    if (root_path !== "" && !isAbsolute(journalctl_path))
      context.addIssue({
        code: "custom",
        path: ["journalctl_path"],
        message: "expected an absolute path, because root_path is set",
      });
  });

export type JournaldConfig = z.infer<typeof journaldSchema>;

/**
 * The arguments that choose the journal. With files that are named, entries of all boots are read: which boot is the
 * current one is known of this machine only.
 */
export function journalArguments({ directory, files, namespace, merge, dmesg }: JournaldConfig): string[] {
  const isNamed = directory || files.length > 0;
  return [
    ...(directory ? [`--directory=${directory}`] : files.map((file) => `--file=${file}`)),
    ...(namespace === "" ? [] : [`--namespace=${namespace}`]),
    ...(merge || (isNamed && !dmesg) ? ["--merge"] : []),
  ];
}

/** The arguments that choose entries. */
export function entryArguments(config: JournaldConfig): string[] {
  const { units, identifiers, priority, grep, dmesg, all, matches } = config;
  const fields = matches.map((each) => Object.entries(each).map(([name, text]) => `${name}=${text}`));
  return [
    ...units.map((unit) => `--unit=${unit}`),
    ...identifiers.map((identifier) => `--identifier=${identifier}`),
    `--priority=${priority}`,
    ...(grep === "" ? [] : [`--grep=${grep}`]),
    ...(dmesg ? ["--dmesg"] : []),
    ...(all ? ["--all"] : []),
    ...fields.flatMap((each, index) => (index === 0 ? each : ["+", ...each])),
  ];
}
