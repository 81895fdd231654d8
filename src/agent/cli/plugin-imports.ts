import module from "node:module";
import { join, sep } from "node:path";
import process from "node:process";
import { pathToFileURL } from "node:url";
import { MessageChannel, type MessagePort } from "node:worker_threads";
import { importUrl } from "#host";
import { fileSignature, isSingleExecutable, packageFolder } from "#system";

interface ImportEvents {
  /** A file of a plugin is about to be read. */
  onFile(file: string, signature: string): void;
  /** TypeScript is compiled, by the package of this name and version. */
  onCompiler(name: string): void;
}

/**
 * The modules of plugins: reports their files, loads all of them again when one has changed, and lets them be
 * TypeScript. Node.js 22.18 and newer strip types; for older ones each file is compiled by the typescript package that
 * the plugin has: with its API, or, since version 7 has none for this, with its command. In both cases an import of
 * `./a.js` finds `a.ts`, as TypeScript wants it written.
 */
export class PluginImports {
  private readonly files = new Map<string, string>();
  private version = 0;

  /** Without `compiles`, TypeScript is left to Node.js. */
  constructor({ onFile, onCompiler }: ImportEvents, compiles = true) {
    const { port1, port2 } = new MessageChannel();
    port1.on("message", ({ file, signature, compiler }: HookMessage) => {
      if (compiler !== undefined) return onCompiler(compiler);
      this.files.set(file, signature);
      onFile(file, signature);
    });
    port1.unref();
    registerHooks(port2, compiles);
  }

  /** How plugins are imported from now on: all of them anew if one of their files has changed, otherwise as before. */
  nextImport(): typeof importUrl {
    if ([...this.files].some(([file, signature]) => fileSignature(file) !== signature)) {
      this.files.clear();
      this.version += 1;
    }
    const { version } = this;
    // The hooks give the query to everything that the module imports.
    return (url) => importUrl(version === 0 ? url : `${url}?${VERSION_KEY}=${version}`);
  }
}

/**
 * For `sluice run`: imports plugins as `PluginImports` does, which it creates for the first plugin. Each call of the
 * returned function is for one load of the config.
 */
export function importsOfRun(onFile: (file: string) => void): () => typeof importUrl {
  let imports: PluginImports | undefined;
  return () => {
    let importModule: typeof importUrl | undefined;
    return (url) => {
      imports ??= new PluginImports({ onFile, onCompiler() {} }, false);
      importModule ??= imports.nextImport();
      return importModule(url);
    };
  };
}

interface HookMessage {
  readonly file: string;
  readonly signature: string;
  readonly compiler?: string;
}

const VERSION_KEY = "sluice-dev";

function registerHooks(port: MessagePort, compiles: boolean): void {
  const folder = packageFolder();
  const data = {
    port,
    strips: !compiles || Boolean((process.features as { typescript?: unknown }).typescript),
    node: isSingleExecutable() ? undefined : process.execPath,
    own: folder === undefined ? [] : ["dist", "src", "bin"].map((name) => pathToFileURL(join(folder, name) + sep).href),
  };
  const hooks = `data:text/javascript,${encodeURIComponent(HOOKS)}`;
  module.register(hooks, import.meta.url, { data, transferList: [port] });
  // Positions in errors are those of the source, not of the compiled text.
  if (!data.strips) process.setSourceMapsEnabled(true);
}

/** Source code as a string, because it runs in the loader's own thread. */
const HOOKS = `
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, readdirSync, rmSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

let settings;
let compiler;

export { initialize, load, resolve };

function initialize(data) {
  settings = data;
}

async function resolve(specifier, context, next) {
  const found = await resolveSource(specifier, context, next);
  const version = /[?&]sluice-dev=\\d+$/.exec(context.parentURL ?? "");
  if (version === null || !isPluginFile(found.url) || found.url.includes("?")) return found;
  return { ...found, url: found.url + "?" + version[0].slice(1) };
}

async function resolveSource(specifier, context, next) {
  try {
    return await next(specifier, context);
  } catch (error) {
    const source = specifier.replace(/\\.([mc]?)js$/, ".$1ts");
    const isOther = source === specifier || !/^(\\.|\\/|file:)/.test(specifier);
    if (error.code !== "ERR_MODULE_NOT_FOUND" || isOther) throw error;
    try {
      return await next(source, context);
    } catch {
      throw error;
    }
  }
}

function isPluginFile(url) {
  if (!url.startsWith("file:") || url.includes("/node_modules/")) return false;
  return !settings.own.some((folder) => url.startsWith(folder));
}

async function load(url, context, next) {
  if (!isPluginFile(url)) return next(url, context);
  const file = fileURLToPath(url);
  settings.port.postMessage({ file, signature: fileSignature(file) });
  if (settings.strips || !/\\.m?ts$/.test(file)) return next(url, context);
  const compile = compilerFor(file);
  return compile === undefined ? next(url, context) : { format: "module", source: compile(file), shortCircuit: true };
}

/** As in src/runtime/system/file-signature.ts. */
function fileSignature(file) {
  try {
    const { ino, size, mtimeMs, ctimeMs } = statSync(file);
    return [file, ino, size, mtimeMs, ctimeMs].join(" ");
  } catch {
    return file + " is gone";
  }
}

function compilerFor(file) {
  const require = createRequire(file);
  try {
    const ts = require("typescript");
    const manifest = require.resolve("typescript/package.json");
    const { version } = JSON.parse(readFileSync(manifest, "utf8"));
    const compile = ts.transpileModule ? (name) => transpile(ts, name) : (name) => runTsc(join(dirname(manifest), "bin/tsc"), name);
    if (!ts.transpileModule && settings.node === undefined) return undefined;
    if (compiler !== version) settings.port.postMessage({ compiler: "typescript " + version });
    compiler = version;
    return compile;
  } catch {
    return undefined;
  }
}

function transpile(ts, file) {
  const compilerOptions = {
    module: ts.ModuleKind.ESNext,
    target: ts.ScriptTarget.ES2022,
    verbatimModuleSyntax: true,
    inlineSourceMap: true,
    inlineSources: true,
  };
  const text = readFileSync(file, "utf8");
  const { outputText, diagnostics } = ts.transpileModule(text, { compilerOptions, fileName: file, reportDiagnostics: true });
  for (const { category, messageText, start } of diagnostics ?? []) {
    if (category !== ts.DiagnosticCategory.Error) continue;
    const before = text.slice(0, start ?? 0).split("\\n");
    throw syntaxError(file, before.length, before.at(-1).length + 1, ts.flattenDiagnosticMessageText(messageText, " "));
  }
  return withSource(outputText, file);
}

function runTsc(tsc, file) {
  const out = mkdtempSync(join(tmpdir(), "sluice-dev-"));
  try {
    const options = "--ignoreConfig --noCheck --noResolve --module esnext --moduleResolution bundler --target es2022";
    const emit = "--verbatimModuleSyntax --inlineSourceMap --inlineSources --pretty false --types";
    const args = [tsc, ...options.split(" "), ...emit.split(" "), "", "--outDir", out, file];
    try {
      execFileSync(settings.node, args, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
    } catch (error) {
      // Errors below 2000 are about syntax; others are left to the type check.
      const found = /\\((\\d+),(\\d+)\\): error TS(1\\d{3}): (.*)/.exec(String(error.stdout));
      if (found !== null) throw syntaxError(file, found[1], found[2], found[4]);
    }
    const [compiled] = readdirSync(out);
    if (compiled === undefined) throw new Error("tsc has not compiled " + file);
    return withSource(readFileSync(join(out, compiled), "utf8"), file);
  } finally {
    rmSync(out, { recursive: true, force: true });
  }
}

/** The compiler knows the source by a path that is relative to where it has written. */
function withSource(text, file) {
  const mark = "//# sourceMappingURL=data:application/json;base64,";
  const at = text.lastIndexOf(mark);
  if (at < 0) return text;
  const map = JSON.parse(Buffer.from(text.slice(at + mark.length), "base64").toString("utf8"));
  map.sources = [pathToFileURL(file).href];
  delete map.sourceRoot;
  return text.slice(0, at) + mark + Buffer.from(JSON.stringify(map)).toString("base64");
}

function syntaxError(file, line, column, message) {
  const path = relative(process.cwd(), file);
  const shown = path.startsWith("..") ? file : path;
  const error = new SyntaxError(message + " (" + shown + ":" + line + ":" + column + ")");
  return Object.assign(error, { code: "ERR_INVALID_TYPESCRIPT_SYNTAX" });
}
`;
