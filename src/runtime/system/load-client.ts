import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { z } from "zod";
import { StartError } from "#contract/errors";

/**
 * Client libraries of brokers and databases are optional peer dependencies: whoever names such a component installs its
 * client, in the project the agent runs in or beside Sluice, and nobody else pays for it. Nothing is looked for before a
 * config names the component.
 */

/** The client's module; the name may end with a version to install, as of `npm install`. Throws a `StartError` with the command that installs it when it is not there or cannot be loaded. */
export async function loadClient<T>(name: string): Promise<T> {
  const file = findClient(name);
  if (file === undefined) throw new StartError(missingClient(name));
  try {
    const module = (await import(pathToFileURL(file).href)) as Record<string, unknown>;
    // CommonJS modules have everything under default, and only what Node.js recognises beside it.
    return (isObject(module.default) ? { ...module.default, ...module } : module) as T;
  } catch (cause) {
    throw new StartError(`the package ${name} is installed and cannot be loaded: ${String(cause)}`, [], { cause });
  }
}

/** A schema that also says, with the place in the config, which package is missing and how to install it. */
export function withClient<S extends z.ZodType>(name: string, schema: S): S {
  return schema.superRefine((_config, context) => {
    if (!hasClient(name)) context.addIssue({ code: "custom", message: missingClient(name) });
  }) as S;
}

export function hasClient(name: string): boolean {
  return findClient(name) !== undefined;
}

export function missingClient(name: string): string {
  return `it needs the package ${name}, which is not installed; run: npm install ${name}`;
}

/** The file to import: that of the project the agent was started in, or else the one beside Sluice. */
function findClient(name: string): string | undefined {
  for (const from of [join(process.cwd(), "package.json"), import.meta.url]) {
    try {
      return createRequire(from).resolve(name.replace(VERSION, ""));
    } catch {
      // not there
    }
  }
  return undefined;
}

/** An @ that is not that of a scope. */
const VERSION = /(?<!^)@[^/]*$/;

function isObject(value: unknown): value is object {
  return (typeof value === "object" || typeof value === "function") && value !== null;
}
