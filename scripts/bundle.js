/**
 * Bundles the command line and the doors of the package into a few files under dist/bundle. Loading their 500 modules
 * (of Sluice, zod, yaml and rxjs) one by one takes longer than validating a config. They are bundled together to share
 * their code: a plugin that imports sluice/plugin gets the same classes that run it. Types come from dist.
 */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname, join } from "node:path";
import { rolldown } from "rolldown";

const root = dirname(import.meta.dirname);
const require = createRequire(import.meta.url);
/** Node.js resolves rxjs to its CommonJS build, which cannot be tree-shaken. */
const rxjs = join(dirname(require.resolve("rxjs/package.json")), "dist", "esm", "index.js");
/** The same holds for yaml. Its browser build is the same code as modules. */
const yaml = join(dirname(require.resolve("yaml/package.json")), "browser", "dist", "index.js");

/** Reduces what is read and compiled at every start; names are kept for readable stack traces. */
const MINIFY = { compress: { sequences: false, joinVars: false }, mangle: false, codegen: { removeWhitespace: false } };

/**
 * One file per room that only some components use, and one for rooms that all use: otherwise everything behind the
 * plugin door would be one file, read at every start. A module goes into the first group that matches.
 */
const ROOMS = [
  // The files that `sluice --version` needs.
  file("room-version", ["runtime/system/package-info.js", "agent/cli/terminal.js", "agent/cli/process/version.js"]),
  // Every command that reads a config needs all of these, and each file takes the best part of a millisecond.
  file("room-config", [
    "runtime/config",
    "runtime/host/errors",
    "runtime/host/plugins",
    "agent/builtins",
    "agent/cli/config-sources.js",
    "agent/cli/load-from-arguments.js",
    "agent/cli/show-problems.js",
  ]),
  // The files that every command line needs before its command is known.
  file("room-cli", [
    "agent/cli/(?:main|command|config-commands|help|parse-arguments).js",
    "agent/cli/(?:[a-z-]+/)?commands.js",
    "agent/cli/agent/(?:find-agent|operator|send-request).js",
    "agent/cli/print/fit-line.js",
    "agent/cli/workers/assignment.js",
    "agent/rehearsal/process/rehearsal-command.js",
  ]),
  // The extensions that every agent has.
  file("room-defaults", [
    "extensions/reliability/component.js",
    "extensions/reliability/config.js",
    "runtime/queue/store/encryption/config.js",
    "runtime/queue/store/remote/postgres-config.js",
    "runtime/queue/store/store.js",
    "extensions/health-check.js",
    "extensions/admin-api/component.js",
    "extensions/admin-api/config.js",
    "extensions/admin-api/access.js",
    "extensions/admin-api/http-error.js",
    "extensions/admin-api/roles.js",
    "extensions/admin-api/agents/agents-config.js",
    "extensions/admin-api/agents/other-agents.js",
    "extensions/admin-api/agents/read-agent.js",
  ]),
  // The files that every agent runs.
  file("room-host", ["runtime/host", "runtime/pipeline"]),
  file("room-run", [
    "agent/cli/(?:plugin-imports|run|supervise|v8).js",
    "agent/mask-batch.js",
    "agent/rehearsal/fail-conditions.js",
    "agent/rehearsal/process/(?:agent-rehearsals|child-frames|config-snapshots|rehearsal-process).js",
  ]),
  file("room-queue", ["extensions/reliability", "runtime/queue"]),
  // Only receivers of log entries use it, and it needs the room of logs.
  file("room-logs", ["runtime/logs", "runtime/receiving/entry-stream.js"]),
  file("room-net", ["runtime/net", "runtime/codecs"]),
  file("room-receiving", ["runtime/receiving"]),
  // Separate from the rest of its room: these are in the schemas of otlp and reliability, which every agent has.
  file("room-shared-state", [
    "runtime/brokers/postgres",
    "runtime/brokers/dedup",
    "runtime/brokers/shared",
    "runtime/brokers/clients",
    "runtime/brokers/oldest-first-map.js",
  ]),
  file("room-brokers", ["runtime/brokers"]),
  file("room-ottl", ["runtime/ottl"]),
  // Separate from the rest of its room, which every command uses: only OTTL and the log operators use it.
  file("room-expressions", ["runtime/text/expressions"]),
  // What masks the texts that an agent logs, without the schemas and the treatment of batches.
  file("room-pii-texts", [
    "processors/pii/(?:mask-text|normalise|pseudonyms|strategies|text-treatment).js",
    "processors/pii/detect",
    "processors/pii/fields/(?:rewrite-plans|unseen-walk).js",
  ]),
  file("room-pii", ["processors/pii"]),
  file("room-sampling", ["processors/sampling"]),
  file("room-versioning", ["processors/versioning"]),
  file("room-core", [
    "runtime/contract",
    "runtime/otlp",
    "runtime/text",
    "runtime/resilience",
    "runtime/system",
    "runtime/metrics",
    "runtime/traces",
    "runtime/work",
  ]),
  // For the agent's own metrics and logs; and to send them, or those of a program's SDK, as OTLP.
  packages("opentelemetry-sdk", "api-logs|core|exporter-prometheus|resources|sdk-[a-z-]+|semantic-conventions"),
  packages("opentelemetry-otlp", "exporter-[a-z-]+|otlp-[a-z-]+"),
];

/**
 * The main module of a thread stays out of its room's file: importing the room must not run it.
 * @param {string} name @param {string[]} rooms
 */
function file(name, rooms) {
  const paths = rooms.map((room) => room.replaceAll("/", "[\\\\/]"));
  return { name, test: new RegExp(`[\\\\/]dist[\\\\/](?:${paths.join("|")})(?:$|[\\\\/](?!.*-thread\\.js$))`) };
}

/** @param {string} name @param {string} packages alternatives of a pattern */
function packages(name, packages) {
  return { name, test: new RegExp(`[\\\\/]node_modules[\\\\/]@opentelemetry[\\\\/](?:${packages})[\\\\/]`) };
}

const FEW_ATTRIBUTES = join(root, "node_modules", "@opentelemetry", "semantic-conventions", "few-attributes.mjs");

/** Reads tsc's source maps, so that the bundle's maps lead to the TypeScript. Packages get none. */
const sourceMaps = {
  name: "source-maps",
  /** @param {string} id */
  load(id) {
    if (!/\.[mc]?js$/.test(id)) return null;
    const code = readFileSync(id, "utf8");
    if (!id.startsWith(join(root, "dist"))) return { code, map: { mappings: "" } };
    return { code, map: readFileSync(`${id}.map`, "utf8") };
  },
};

/**
 * The exporter for Prometheus is CommonJS, which cannot be tree-shaken: of 700 names of attributes it gets the two that
 * it uses.
 */
const fewAttributes = {
  name: "few-attributes",
  /** @param {string} source @param {string | undefined} importer */
  resolveId(source, importer) {
    const isWanted = source === "@opentelemetry/semantic-conventions" && /exporter-prometheus/.test(importer ?? "");
    return isWanted ? FEW_ATTRIBUTES : null;
  },
  /** @param {string} id */
  load(id) {
    if (id !== FEW_ATTRIBUTES) return null;
    const code = 'export { ATTR_OTEL_SCOPE_NAME, ATTR_OTEL_SCOPE_VERSION } from "@opentelemetry/semantic-conventions";';
    return { code, map: { mappings: "" } };
  },
};

/** The agent's log writes in its own thread, so its pino needs nothing of pino's transports and their threads. */
const noTransports = {
  name: "no-transports",
  /** @param {string} id */
  load(id) {
    return /[\\/]pino[\\/]lib[\\/]transport\.js$/.test(id)
      ? { code: "module.exports = undefined;", map: { mappings: "" } }
      : null;
  },
};

/**
 * Takes modules of Node.js from `process.getBuiltinModule`. An import statement would also read all exports of such a
 * module, which loads what some of them stand for, such as WebSocket in node:http: a seventh of the start.
 */
const builtins = {
  name: "builtins",
  /** @param {unknown} _options @param {Record<string, { type: string, code: string }>} files */
  generateBundle(_options, files) {
    for (const file of Object.values(files)) {
      // Only the statements at the head of a file: other lines may be text, such as that of a file to create.
      if (file.type === "chunk") file.code = file.code.replace(/^(?:(?:import|\/\/|#!).*\n)+/, takeBuiltins);
    }
  },
};

/** @param {string} head keeps its lines, so that source maps stay true */
function takeBuiltins(head) {
  return head.replace(
    /^import (?:(?:\* as )?([\w$]+))?(?:, )?(\{.+\})? from ("node:.+");$/gm,
    (_, whole, some, module) =>
      [whole, some?.replaceAll(" as ", ": ")]
        .filter(Boolean)
        .map((target) => `const ${target} = globalThis.process.getBuiltinModule(${module});`)
        .join(" "),
  );
}

/**
 * Every component's main module is called component.js, so its file in the bundle is named after its folder.
 * @param {{ name: string, moduleIds: string[] }} chunk
 */
function chunkName({ name, moduleIds }) {
  const component = moduleIds.find((id) => /[\\/]component\.js$/.test(id));
  return name === "component" && component ? `${basename(dirname(component))}.js` : "[name].js";
}

/**
 * Not every command needs these, and they read their own files. Programs that embed Sluice share the API with it. Every
 * agent needs pino for its log, but not its files: there are 25.
 *
 * @param {string} id @param {string | undefined} importer
 */
function isExternal(id, importer = "") {
  if (/^pino$/.test(id)) return !/self-telemetry[\\/]logger\.js$/.test(importer);
  return /^(?:@opentelemetry\/api|level)$/.test(id);
}

const bundle = await rolldown({
  cwd: root,
  plugins: [fewAttributes, noTransports, sourceMaps, builtins],
  input: {
    "run-process": "dist/agent/cli/process/run-process.js",
    index: "dist/index.js",
    ottl: "dist/ottl.js",
    pino: "dist/pino.js",
    plugin: "dist/plugin.js",
    sdk: "dist/sdk.js",
    testing: "dist/testing.js",
    "trial-thread": "dist/runtime/ottl/trials/trial-thread.js",
  },
  platform: "node",
  // A group may put the exports of an entry into another entry's file.
  preserveEntrySignatures: "allow-extension",
  external: isExternal,
  resolve: { alias: { rxjs, yaml }, mainFields: ["module", "main"] },
  experimental: { attachDebugInfo: "none" },
  // Our modules have no side effects, so importing one through a door must not include everything behind it.
  treeshake: { moduleSideEffects: (id) => !id.startsWith(join(root, "dist")) },
});
await bundle.write({
  dir: join(root, "dist", "bundle"),
  format: "esm",
  chunkFileNames: chunkName,
  minify: MINIFY,
  comments: false,
  sourcemap: true,
  sourcemapExcludeSources: true,
  codeSplitting: { includeDependenciesRecursively: false, groups: ROOMS },
});
await bundle.close();
