import { fileURLToPath } from "node:url";
import type { Clock } from "../../contract/clock.js";
import { errorMessage } from "../../contract/error-message.js";
import { importUrl, type PluginModule } from "./import-url.js";

/** Why a plugin's code could not be loaded, in words for the one who named it. */
interface ImportFailure {
  readonly code: string;
  readonly problem: string;
  readonly suggestion?: string | undefined;
}

type ImportResult = { readonly module: PluginModule } | { readonly failure: ImportFailure };

export type ImportModule = (url: string) => Promise<PluginModule>;

const TIMEOUT_MS = 10_000;

/** Unlike the system's clock it keeps the process alive: nothing else may be left to wait for. */
const keepAliveClock: Pick<Clock, "after"> = {
  after(ms, run) {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
};

/** Runs a plugin's module. Never rejects: what goes wrong comes back in words. */
export async function importPlugin(
  url: string,
  load: ImportModule = importUrl,
  clock: Pick<Clock, "after"> = keepAliveClock,
): Promise<ImportResult> {
  let cancel = () => {};
  const timeout = new Promise<ImportResult>((resolve) => {
    cancel = clock.after(TIMEOUT_MS, () => resolve({ failure: TIMED_OUT }));
  });
  try {
    return await Promise.race([load(url).then((module) => ({ module })), timeout]);
  } catch (error) {
    return { failure: explainFailure(error, url) };
  } finally {
    cancel();
  }
}

const TIMED_OUT: ImportFailure = {
  code: "plugin_failed",
  problem: `was not loaded after ${TIMEOUT_MS / 1000} s: its top level awaits something that does not come`,
};

function explainFailure(error: unknown, url: string): ImportFailure {
  const { code, message, stack } = asError(error);
  if (code === "ERR_UNKNOWN_FILE_EXTENSION" && /\.[mc]?ts\b/.test(message)) return noTypeScript();
  if (code === "ERR_UNSUPPORTED_NODE_MODULES_TYPE_STRIPPING") {
    const problem = "is TypeScript inside node_modules, which Node.js does not load";
    return { code: "plugin_typescript", problem, suggestion: "packages ship JavaScript: build it" };
  }
  if (code === "ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX" || code === "ERR_INVALID_TYPESCRIPT_SYNTAX") {
    const problem = `uses TypeScript that cannot simply be stripped: ${firstLine(message)}`;
    return { code: "plugin_typescript", problem, suggestion: "set erasableSyntaxOnly in tsconfig.json, or compile it" };
  }
  const missing = missingModule(code, message);
  if (missing !== undefined) return notInstalled(missing, message);
  if (error instanceof SyntaxError) {
    const suggestion = `node --check ${fileURLToPath(url)} shows the place`;
    return { code: "plugin_failed", problem: `cannot be read: ${firstLine(message)}`, suggestion };
  }
  const place = firstFrame(stack);
  const problem = `threw while it was loaded: ${firstLine(message)}${place === undefined ? "" : ` (${place})`}`;
  return { code: "plugin_failed", problem };
}

function noTypeScript(): ImportFailure {
  return {
    code: "plugin_typescript",
    problem: `is TypeScript, which Node.js ${process.versions.node} does not load`,
    suggestion: "use Node.js 22.18 or newer, or compile it to JavaScript with tsc and name that file",
  };
}

function notInstalled(name: string, message: string): ImportFailure {
  const importer = / imported from (.+?)$/m.exec(message)?.[1];
  const problem = `imports "${name}", which cannot be found${importer === undefined ? "" : ` from ${importer}`}`;
  const isPath = /^[./]|^file:/.test(name);
  return { code: "plugin_import", problem, suggestion: isPath ? undefined : `npm install ${name}` };
}

function missingModule(code: unknown, message: string): string | undefined {
  if (code !== "ERR_MODULE_NOT_FOUND" && code !== "MODULE_NOT_FOUND") return undefined;
  return /Cannot find (?:package|module) '([^']+)'/.exec(message)?.[1];
}

/** `file:line:column` of the first frame that is not inside Node.js. */
function firstFrame(stack: string): string | undefined {
  const frame = /(?:file:\/\/|\()((?:\/|[A-Za-z]:\\)[^\n()]+?:\d+:\d+)/.exec(stack)?.[1];
  return frame?.slice(Math.max(frame.lastIndexOf("/"), frame.lastIndexOf("\\")) + 1);
}

function asError(error: unknown): { code: unknown; message: string; stack: string } {
  if (!(error instanceof Error)) return { code: undefined, message: errorMessage(error), stack: "" };
  try {
    const { name, message, stack = "" } = error;
    return { code: (error as { code?: unknown }).code, message: `${name}: ${message}`, stack: String(stack) };
  } catch {
    return { code: undefined, message: errorMessage(error), stack: "" };
  }
}

function firstLine(text: string): string {
  return text.split("\n", 1)[0]!.slice(0, 300);
}
