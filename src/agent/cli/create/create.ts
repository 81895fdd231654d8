import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import type { Registry } from "#config/resolve";
import { errorMessage } from "#contract/errors";
import { nearest } from "#contract/schema";
import type { CommandContext } from "../command.js";
import { EXIT, UsageError } from "../terminal.js";
import { connectorFiles } from "./connector.js";
import { exporterFiles } from "./exporter.js";
import { extensionFiles } from "./extension.js";
import { commonFiles, type Scaffold, type ScaffoldFiles, type ScaffoldKind, VERSIONS } from "./files.js";
import { handlerFiles } from "./handler.js";
import { processorFiles } from "./processor.js";
import { receiverFiles } from "./receiver.js";

const KINDS: Readonly<Record<ScaffoldKind, (scaffold: Scaffold) => ScaffoldFiles>> = {
  processor: processorFiles,
  receiver: receiverFiles,
  exporter: exporterFiles,
  connector: connectorFiles,
  extension: extensionFiles,
  handler: handlerFiles,
};

/** `sluice create processor NAME`: writes a package with a starter component. Never overwrites a file. */
export async function create({ values, terminal, registry }: CommandContext): Promise<number> {
  const [kind, name, ...more] = (values["names"] ?? []) as readonly string[];
  if (more.length > 0) throw new UsageError(`unexpected argument "${more[0]}"`);
  const named = namedComponent(kindOf(kind), name, await registry());
  const shown = (values["directory"] as string | undefined) ?? named.name.replace(/^@[^/]+\//, "");
  const folder = resolve(shown);
  const scaffold = { ...named, folder };
  if (!isEmptyOrMissing(folder)) {
    terminal.err.write(`sluice: ${shown} exists and is not empty; nothing was written. Choose another --directory.\n`);
    return EXIT.failed;
  }
  const files = { ...commonFiles(scaffold), ...KINDS[scaffold.kind](scaffold) };
  try {
    writeFiles(folder, files);
  } catch (error) {
    terminal.err.write(`sluice: ${shown} cannot be written: ${errorMessage(error)}\n`);
    return EXIT.failed;
  }
  terminal.out.write(nextSteps(scaffold, shown, Object.keys(files)));
  return EXIT.ok;
}

function writeFiles(folder: string, files: ScaffoldFiles): void {
  for (const [path, text] of Object.entries(files)) {
    makeFolder(dirname(join(folder, path)));
    writeFileSync(join(folder, path), text);
  }
}

/**
 * Creates the folders one by one: Node's recursive mkdir loops forever where nothing can be created, as below /proc.
 */
function makeFolder(folder: string): void {
  if (existsSync(folder)) return;
  makeFolder(dirname(folder));
  mkdirSync(folder);
}

function kindOf(word: string | undefined): ScaffoldKind {
  const kinds = Object.keys(KINDS) as ScaffoldKind[];
  const found = kinds.find((kind) => kind === word);
  if (found !== undefined) return found;
  if (word === undefined)
    throw new UsageError(`say what to create: ${kinds.join(", ")}`, "sluice create processor NAME");
  const guess = nearest(word, kinds);
  throw new UsageError(
    `sluice create cannot write "${word}"; expected ${kinds.join(", ")}`,
    guess && `did you mean "${guess}"?`,
  );
}

function namedComponent(kind: ScaffoldKind, name: string | undefined, registry: Registry): Omit<Scaffold, "folder"> {
  if (name === undefined) throw new UsageError("a name is missing", `sluice create ${kind} my-${kind}`);
  if (name.length > 100 || !/^(@[a-z0-9][a-z0-9._-]*\/)?[a-z][a-z0-9._-]*$/.test(name)) {
    const rule = "npm requires a letter, followed by lower-case letters, digits and dashes";
    throw new UsageError(`"${name}" is not a valid package name: ${rule}`, suggestedName(name));
  }
  if (DEPENDENCIES.has(name)) {
    throw new UsageError(`the new package itself depends on "${name}"`, `choose another name, such as my-${name}`);
  }
  const type = typeOf(kind, name);
  if (RESERVED.has(type)) {
    throw new UsageError(`"${type}" cannot be the type of a ${kind}`, `choose another name, such as my-${name}`);
  }
  // A handler is an exporter to the config.
  if (registry.get(kind === "handler" ? "exporter" : kind, type) !== undefined) {
    throw new UsageError(`Sluice has a ${kind} "${type}" already`, `choose another name, such as my-${name}`);
  }
  return { kind, name, type };
}

/** A package with one of these names could not depend on the package of the same name. */
const DEPENDENCIES: ReadonlySet<string> = new Set(["sluice", "node_modules", ...Object.keys(VERSIONS)]);

/** Names that YAML reads as a value, and `memory`, the receiver and exporter of every pipeline test. */
const RESERVED: ReadonlySet<string> = new Set(["null", "true", "false", "memory"]);

/**
 * Derives the component type from the package name: `sluice-processor-geo-ip` and `@acme/geo-ip` both give `geo_ip`.
 */
function typeOf(kind: ScaffoldKind, name: string): string {
  const bare = name.replace(/^@[^/]+\//, "").replace(new RegExp(`^sluice-(?:plugin|${kind})-(?=[a-z])`), "");
  return bare.replace(/[^a-z0-9]+/g, "_").slice(0, 60);
}

function suggestedName(name: string): string | undefined {
  const lowerCase = name.replace(/([a-z])([A-Z])/g, "$1-$2").toLowerCase();
  const corrected = lowerCase.replace(/[^a-z0-9]+/g, "-").replace(/^[^a-z]+|-$/g, "");
  return corrected === "" ? undefined : `did you mean "${corrected}"?`;
}

function isEmptyOrMissing(folder: string): boolean {
  try {
    return readdirSync(folder).length === 0;
  } catch (error) {
    return (error as { code?: unknown }).code === "ENOENT";
  }
}

function nextSteps({ kind, type }: Scaffold, folder: string, files: readonly string[]): string {
  return `Wrote the ${kind} "${type}" to ${folder}:
${files.map((file) => `  ${file}`).join("\n")}

Next:
  cd ${folder}
  npm install
  npm test
  npm run dev
`;
}
