import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { z } from "zod";
import { StartError } from "#contract/errors";
import { importModule, packageFolder } from "./package-info.js";

/**
 * Client libraries of brokers and databases are optional peer dependencies. Users of such a component install its
 * client in the project that the agent runs in, or next to Sluice; other users do not need it. Nothing is searched
 * before a config names the component.
 *
 * The advised command installs into the subfolder `clients` of either place. In the folder of Sluice itself, which a
 * checkout and the image have, npm installs no optional peer dependency, whatever the command says.
 */
const CLIENTS = "clients";

/**
 * Loads a client's module; the name may end with a version, as for `npm install`. Throws a `StartError` with the
 * install command when the package is missing or cannot be loaded.
 */
export async function loadClient<T>(name: string): Promise<T> {
  const file = findClient(name);
  if (file === undefined) throw new StartError(missingClient(name));
  try {
    const module = await importModule(pathToFileURL(file).href);
    // CommonJS modules have everything under default, but only the names that Node.js detects at the top level.
    return (isObject(module.default) ? { ...module.default, ...module } : module) as T;
  } catch (cause) {
    throw new StartError(`the package ${name} is installed but cannot be loaded: ${String(cause)}`, [], { cause });
  }
}

/** A schema that also reports a missing package, with its place in the config and the install command. */
export function withClient<S extends z.ZodType>(name: string, schema: S): S {
  return schema.superRefine((_config, context) => {
    if (!hasClient(name)) context.addIssue({ code: "custom", message: missingClient(name) });
  }) as S;
}

export function hasClient(name: string): boolean {
  return findClient(name) !== undefined;
}

export function missingClient(name: string): string {
  return `the package ${name} is missing; run: npm install --prefix ${CLIENTS} ${name}`;
}

/** The file to import: from the project that the agent was started in, or else next to Sluice. */
function findClient(name: string): string | undefined {
  const places = [process.cwd(), packageFolder()].flatMap((folder) =>
    folder === undefined ? [] : [folder, join(folder, CLIENTS)],
  );
  for (const place of [...places, import.meta.dirname]) {
    try {
      return createRequire(join(place, "package.json")).resolve(name.replace(VERSION, ""));
    } catch {
      // not installed there
    }
  }
  return undefined;
}

/** An @ that does not begin a scope. */
const VERSION = /(?<!^)@[^/@]*$/;

function isObject(value: unknown): value is object {
  return (typeof value === "object" || typeof value === "function") && value !== null;
}
