import module, { createRequire } from "node:module";

/**
 * Lets a plugin import `sluice/plugin` (and zod and rxjs, which Sluice brings along) although none of them is installed
 * where the plugin is, as with one file beside a config and a Sluice installed for the whole machine. What is installed
 * beside the plugin is taken first. Does nothing when the plugin finds its own.
 */
export function registerOwnPackage(pluginUrl: string): void {
  if (isRegistered || canResolveSluice(pluginUrl)) return;
  isRegistered = true;
  module.register(`data:text/javascript,${encodeURIComponent(HOOKS)}`, import.meta.url, {
    data: { from: import.meta.url },
  });
}

let isRegistered = false;

function canResolveSluice(pluginUrl: string): boolean {
  try {
    createRequire(pluginUrl).resolve("sluice/plugin");
    return true;
  } catch {
    return false;
  }
}

/** Runs in the loader's own thread, so it is a text. */
const HOOKS = `
let from;
export function initialize(data) {
  from = data.from;
}
export async function resolve(specifier, context, next) {
  try {
    return await next(specifier, context);
  } catch (error) {
    if (error.code !== "ERR_MODULE_NOT_FOUND" || !/^(sluice|zod|rxjs)(\\/|$)/.test(specifier)) throw error;
    return next(specifier, { ...context, parentURL: from });
  }
}
`;
