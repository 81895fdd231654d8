import { readFileSync } from "node:fs";
import { z } from "zod";
import { type ConfigPath, configPath } from "#contract/schema";
import { compilePattern } from "#text/patterns";
import { secret, section } from "../../plugin.js";
import { COUNTRIES, type Country, DETECTORS, type DetectorName, OPTIONAL_DETECTORS } from "./detect/text/detectors.js";
import { CONFIDENCES } from "./detect/text/evidence.js";
import { EXTRA_PLACES } from "./fields/rewrite-plans.js";
import { STRATEGIES, type Strategy } from "./strategies.js";
import type { PiiTreatmentSettings } from "./value-treatment.js";

const strategy = () => z.enum(STRATEGIES);

/** Accepts `email: hash`, `email: {strategy: hash}` and `email: false`. */
const strategyChoice = () =>
  z.union(
    [
      z.boolean(),
      strategy(),
      section(
        z.strictObject({ strategy: strategy().optional().meta({ description: "The strategy for its matches." }) }),
      ),
    ],
    {
      error: `expected true, false or one of ${STRATEGIES.join(", ")}`,
    },
  );

const detectorChoice = (name: DetectorName) =>
  strategyChoice()
    .optional()
    .meta({ description: `The strategy for each ${name}; false turns the detector off.` });

const optionalChoice = (name: DetectorName) =>
  strategyChoice()
    .optional()
    .meta({ description: `The strategy for each ${name}; the detector is off unless this is set.` });

const nationalIdChoice = () =>
  z
    .union(
      [
        z.boolean(),
        strategy(),
        section(
          z.strictObject({
            strategy: strategy().optional().meta({ description: "The strategy for its matches." }),
            countries: z
              .array(z.enum(COUNTRIES))
              .min(1)
              .optional()
              .meta({ description: "Countries whose numbers are searched. Default: all known countries." }),
          }),
        ),
      ],
      { error: `expected true, false, one of ${STRATEGIES.join(", ")}, or strategy and countries` },
    )
    .optional()
    .meta({ description: "The strategy for each national_id; false turns the detector off." });

const pattern = z.strictObject({
  name: z
    .string()
    .regex(/^\w+$/, "expected letters, digits and _: the name is used in metrics")
    .meta({ description: "The name of its matches in metrics." }),
  pattern: z
    .string()
    .superRefine((text, context) => {
      try {
        compilePattern(text);
      } catch (error) {
        context.addIssue({ code: "custom", message: `expected a pattern in RE2 syntax: ${(error as Error).message}` });
      }
    })
    .meta({ description: "What to look for, in RE2 syntax." }),
  strategy: strategy().optional().meta({ description: "The strategy for its matches." }),
});

const rawSchema = z.strictObject({
  mode: z
    .enum(["enforce", "report"])
    .default("enforce")
    .meta({ description: "report counts what would be treated, and changes nothing." }),
  strategy: strategy()
    .default("mask")
    .meta({ description: "The default strategy of detectors, patterns and secret keys." }),
  hash_key: secret().optional().meta({ description: "The key of the hash strategy; at least 16 bytes." }),
  hash_key_file: configPath().optional().meta({
    harmless: true,
    description: "A file with the key, relative to the folder of the config; leading and trailing spaces are ignored.",
  }),
  detectors: section(
    z.strictObject(
      Object.fromEntries([
        ...DETECTORS.map((name) => [name, name === "national_id" ? nationalIdChoice() : detectorChoice(name)] as const),
        ...OPTIONAL_DETECTORS.map((name) => [name, optionalChoice(name)] as const),
      ]),
    ),
  )
    .optional()
    .meta({
      description:
        "All detectors except person_name and postal_address are on by default. true turns a detector on, false turns it off.",
    }),
  confidence: z.enum(CONFIDENCES).default("medium").meta({
    description:
      "How sure detectors must be. low finds more, but is wrong more often; high finds less, but is right more often.",
  }),
  profile: z.enum(["standard", "strict"]).default("standard").meta({
    description: "strict switches person_name and postal_address on, and finds all addresses of private networks.",
  }),
  secret_keys: strategyChoice().default(true).meta({ description: "Fields whose names say that they hold secrets." }),
  fields: z
    .record(z.string().min(1), strategy())
    .default({})
    .meta({ description: "Strategies for whole values, by key or path, which may contain *." }),
  patterns: z.array(pattern).default([]).meta({ description: "Additional patterns to find in texts, in RE2 syntax." }),
  json_bodies: z.boolean().default(false).meta({ description: "Treat JSON bodies like maps." }),
  look_into: z
    .array(z.enum(EXTRA_PLACES))
    .default([])
    .meta({ description: "Additional places to treat; unknown_fields removes unknown OTLP fields." }),
  summary: z
    .enum(["silent", "info", "debug"])
    .default("silent")
    .meta({ description: "info adds pii.treated.count to changed records, debug also adds pii.treated.keys." }),
});

export type PiiConfig = PiiTreatmentSettings;

const MIN_KEY_BYTES = 16;

/**
 * Turns the written config into settings. A missing or weak key for `hash` is reported at the place that asks for a
 * hash.
 */
export const piiSchema = rawSchema.transform((config, zod): PiiConfig => {
  const chosen = (one: z.infer<ReturnType<typeof strategyChoice>> | undefined): Strategy => {
    if (one === undefined || one === true) return config.strategy;
    if (one === false) return "allow";
    return typeof one === "string" ? one : (one.strategy ?? config.strategy);
  };
  const detectors = new Map<DetectorName, Strategy>([
    ...DETECTORS.map((name) => [name, chosen(config.detectors?.[name])] as const),
    ...OPTIONAL_DETECTORS.map(
      (name) => [name, chosen(config.detectors?.[name] ?? config.profile === "strict")] as const,
    ),
  ]);
  const patterns = config.patterns.map((one) => ({
    name: one.name,
    pattern: compilePattern(one.pattern),
    strategy: one.strategy ?? config.strategy,
  }));
  const taken = new Set<string>([...DETECTORS, ...OPTIONAL_DETECTORS, "field", "secret_key", "too_costly"]);
  for (const [i, { name }] of patterns.entries()) {
    if (taken.has(name)) {
      zod.addIssue({
        code: "custom",
        path: ["patterns", i, "name"],
        message: `${JSON.stringify(name)} is already a name of a detector`,
      });
    }
    taken.add(name);
  }
  const secretKeys = chosen(config.secret_keys);
  const { hashKey, problem } = readHashKey(config);
  const hashPaths = pathsWithHash(config, detectors);
  if (problem !== undefined) zod.addIssue({ code: "custom", ...problem, path: [...problem.path] });
  else if (hashKey === undefined && hashPaths.length > 0) {
    zod.addIssue({
      code: "custom",
      path: [...hashPaths[0]!],
      message: "hash needs a key: set hash_key (from a variable) or hash_key_file",
    });
  }
  return {
    isEnforced: config.mode === "enforce",
    detectors,
    secretKeys: secretKeys === "allow" ? undefined : secretKeys,
    fields: new Map(Object.entries(config.fields)),
    patterns,
    hashKey,
    confidence: config.confidence,
    privateAddresses: config.profile === "strict",
    countries: countriesOf(config.detectors?.["national_id"]),
    summary: config.summary,
    jsonBodies: config.json_bodies,
    lookInto: EXTRA_PLACES.filter((place) => config.look_into.includes(place)),
  };
});

function countriesOf(choice: unknown): readonly Country[] | undefined {
  return typeof choice === "object" && choice !== null ? (choice as { countries?: Country[] }).countries : undefined;
}

type RawPiiConfig = z.infer<typeof rawSchema>;
/** Returns the paths of the config that ask for hashes, the most specific ones first. */
function pathsWithHash(config: RawPiiConfig, detectors: ReadonlyMap<DetectorName, Strategy>): ConfigPath[] {
  const fields = Object.entries(config.fields)
    .filter(([, to]) => to === "hash")
    .map(([key]): ConfigPath => ["fields", key]);
  const found = [...detectors].filter(([name, to]) => to === "hash" && config.detectors?.[name] !== undefined);
  const patterns = config.patterns.flatMap((one, i): ConfigPath[] =>
    one.strategy === "hash" ? [["patterns", i, "strategy"]] : [],
  );
  const secrets: ConfigPath[] = choosesHash(config.secret_keys) ? [["secret_keys"]] : [];
  const general: ConfigPath[] = config.strategy === "hash" ? [["strategy"]] : [];
  return [...general, ...fields, ...found.map(([name]): ConfigPath => ["detectors", name]), ...patterns, ...secrets];
}

function choosesHash(choice: unknown): boolean {
  return (
    choice === "hash" ||
    (typeof choice === "object" && choice !== null && "strategy" in choice && choice.strategy === "hash")
  );
}

interface KeyProblem {
  readonly path: ConfigPath;
  readonly message: string;
}

function readHashKey(config: RawPiiConfig): { hashKey?: string | undefined; problem?: KeyProblem } {
  const { hash_key: key, hash_key_file: file } = config;
  if (key !== undefined && file !== undefined)
    return { problem: { path: ["hash_key_file"], message: "hash_key is set too: keep one of them" } };
  if (file === undefined) return key === undefined ? {} : checkKeyLength(key, ["hash_key"]);
  try {
    return checkKeyLength(readFileSync(file, "utf8").trim(), ["hash_key_file"]);
  } catch (error) {
    return { problem: { path: ["hash_key_file"], message: `cannot read it: ${(error as Error).message}` } };
  }
}

function checkKeyLength(key: string, path: ConfigPath): { hashKey?: string; problem?: KeyProblem } {
  const size = Buffer.byteLength(key);
  if (size >= MIN_KEY_BYTES) return { hashKey: key };
  return { problem: { path, message: `expected a key of at least ${MIN_KEY_BYTES} bytes, not ${size}` } };
}
