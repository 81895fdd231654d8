import { fileURLToPath } from "node:url";
import type { ProblemCode } from "#config/text";
import { errorMessage } from "#contract/errors";
import { keepAliveTimer, type Timer, waitAtMost } from "#contract/time";
import { thrownAt } from "../errors/source-position.js";
import { importUrl, type PluginModule } from "./import-url.js";

/** Explains why a plugin's code could not be loaded. */
interface ImportFailure {
  readonly code: ProblemCode;
  readonly problem: string;
  readonly suggestion?: string | undefined;
}

type ImportResult = { readonly module: PluginModule } | { readonly failure: ImportFailure };

export type ImportModule = (url: string) => Promise<PluginModule>;

const TIMEOUT_MS = 10_000;

/** Imports a plugin's module. Never rejects: returns a description of the failure. */
export async function importPlugin(
  url: string,
  load: ImportModule = importUrl,
  timer: Timer = keepAliveTimer,
): Promise<ImportResult> {
  try {
    const loading = load(url).then((module) => ({ module }));
    return await waitAtMost(TIMEOUT_MS, loading, timer, () => ({ failure: TIMED_OUT }));
  } catch (error) {
    return { failure: explainFailure(error, url) };
  }
}

const TIMED_OUT: ImportFailure = {
  code: "plugin_failed",
  problem: `was not loaded after ${TIMEOUT_MS / 1000} s: its top-level await does not finish`,
};

function explainFailure(error: unknown, url: string): ImportFailure {
  const { code, message } = asError(error);
  if (code === "ERR_UNKNOWN_FILE_EXTENSION" && /\.[mc]?ts\b/.test(message)) return noTypeScript();
  if (code === "ERR_UNSUPPORTED_NODE_MODULES_TYPE_STRIPPING") {
    const problem = "is TypeScript inside node_modules, which Node.js does not load";
    return { code: "plugin_typescript", problem, suggestion: "packages ship JavaScript: build it" };
  }
  if (code === "ERR_INVALID_TYPESCRIPT_SYNTAX")
    return { code: "plugin_failed", problem: `cannot be read: ${firstLine(message)}${typeScriptPlace(error)}` };
  if (code === "ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX") {
    const problem = `uses TypeScript that cannot simply be stripped: ${firstLine(message)}`;
    return { code: "plugin_typescript", problem, suggestion: "set erasableSyntaxOnly in tsconfig.json, or compile it" };
  }
  const missing = missingModule(code, message);
  if (missing !== undefined) return notInstalled(missing, message);
  if (error instanceof SyntaxError) {
    const suggestion = `node --check ${fileURLToPath(url)} shows the place`;
    return { code: "plugin_failed", problem: `cannot be read: ${firstLine(message)}`, suggestion };
  }
  const position = thrownAt(error);
  const problem = `threw while it was loaded: ${firstLine(message)}${position === undefined ? "" : ` (${position})`}`;
  return { code: "plugin_failed", problem };
}

/** Node.js puts the place in front of the stack: `file:///src/index.ts:3`. */
function typeScriptPlace(error: unknown): string {
  const [, url, line] = /^(file:\/\/.+):(\d+)\n/.exec(error instanceof Error ? (error.stack ?? "") : "") ?? [];
  return url === undefined ? "" : ` (${fileURLToPath(url)}:${line})`;
}

function noTypeScript(): ImportFailure {
  return {
    code: "plugin_typescript",
    problem: `is TypeScript, which Node.js ${process.versions.node} does not load`,
    suggestion:
      "use Node.js 22.18 or newer, or compile it to JavaScript with tsc and name that file; sluice dev compiles it if typescript is installed beside it",
  };
}

function notInstalled(name: string, message: string): ImportFailure {
  const importer = message.split(" imported from ")[1]?.split("\n", 1)[0];
  const problem = `imports "${name}", which cannot be found${importer === undefined ? "" : ` from ${importer}`}`;
  const isPath = /^[./]|^file:/.test(name);
  return { code: "plugin_import", problem, suggestion: isPath ? undefined : `npm install ${name}` };
}

function missingModule(code: unknown, message: string): string | undefined {
  if (code !== "ERR_MODULE_NOT_FOUND" && code !== "MODULE_NOT_FOUND") return undefined;
  return /Cannot find (?:package|module) '([^']+)'/.exec(message)?.[1];
}

function asError(error: unknown): { code: unknown; message: string } {
  if (!(error instanceof Error)) return { code: undefined, message: errorMessage(error) };
  try {
    const { name, message } = error;
    return { code: (error as { code?: unknown }).code, message: `${name}: ${message}` };
  } catch {
    return { code: undefined, message: errorMessage(error) };
  }
}

function firstLine(text: string): string {
  return text.split("\n", 1)[0]!.slice(0, 300);
}
