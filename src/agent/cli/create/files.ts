import { existsSync, readFileSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { packageFolder, packageVersion } from "#system";

export type ScaffoldKind = "processor" | "receiver" | "exporter" | "connector" | "extension" | "handler";

/** The choices that a new package is made from. */
export interface Scaffold {
  readonly kind: ScaffoldKind;
  /** Name of the package. */
  readonly name: string;
  /** Type of the component, as a config names it. */
  readonly type: string;
  /** Folder that the package is written to. */
  readonly folder: string;
}

/** File contents by path. */
export type ScaffoldFiles = Readonly<Record<string, string>>;

/** Versions of the dependencies in a new package: the same that Sluice itself is built with. */
export const VERSIONS = { "@types/node": "^20.19.43", typescript: "^7.0.2", vitest: "^4.1.12", zod: "^4.6.7" } as const;

/** The files that every new package has. */
export function commonFiles(scaffold: Scaffold): ScaffoldFiles {
  return {
    "package.json": `${JSON.stringify(manifest(scaffold), undefined, 2)}\n`,
    "tsconfig.json": `${JSON.stringify(TSCONFIG, undefined, 2)}\n`,
    "tsconfig.build.json": `${JSON.stringify(TSCONFIG_BUILD, undefined, 2)}\n`,
    "vitest.config.ts": VITEST_CONFIG,
    ".gitignore": "node_modules/\ndist/\ndata/\n",
    "README.md": readme(scaffold),
  };
}

function manifest({ name, kind, folder }: Scaffold): object {
  const { zod, ...devTools } = VERSIONS;
  const version = packageVersion();
  const sluice = version === "unknown" ? "latest" : `^${version}`;
  return {
    name,
    version: "0.1.0",
    description: `${/^[aeiou]/.test(kind) ? "An" : "A"} ${kind} for Sluice.`,
    // Sluice finds the package by its first keyword when a config names its type without listing it under `plugins`.
    keywords: ["sluice-plugin", "sluice", "opentelemetry"],
    type: "module",
    engines: { node: ">=20.19" },
    exports: { ".": { types: "./dist/index.d.ts", default: "./dist/index.js" } },
    files: ["dist"],
    scripts: {
      build: "tsc -p tsconfig.build.json",
      check: "tsc -p tsconfig.json",
      test: "vitest run",
      dev: "sluice dev --config example.yaml --set plugins=[./src/index.ts]",
      start: "npm run build && sluice run --config example.yaml",
      prepack: "npm run build",
    },
    peerDependencies: { sluice },
    dependencies: { zod },
    devDependencies: {
      "@types/node": devTools["@types/node"],
      sluice: localSluice(folder) ?? sluice,
      typescript: devTools.typescript,
      vitest: devTools.vitest,
    },
  };
}

/**
 * The copy of Sluice that creates the package, if no registry may have it: the tarball it was installed from, or its
 * own folder. Undefined when it came from a registry, or is a single executable.
 */
function localSluice(folder: string): string | undefined {
  const sluiceFolder = packageFolder();
  if (sluiceFolder === undefined) return undefined;
  const source = installedFrom(sluiceFolder);
  if (source !== undefined && !source.startsWith("file:")) return undefined;
  const tarball = source && join(sluiceFolder, "../..", source.slice("file:".length));
  const target = tarball !== undefined && existsSync(tarball) ? tarball : sluiceFolder;
  return `file:${relative(folder, target).replaceAll("\\", "/")}`;
}

/**
 * The source that npm recorded for an installed package: a URL, or `file:` and a path. Undefined if npm did not install
 * it.
 */
function installedFrom(packageFolder: string): string | undefined {
  const modules = dirname(packageFolder);
  try {
    const { packages } = JSON.parse(readFileSync(join(modules, ".package-lock.json"), "utf8"));
    const source = packages[`node_modules/${basename(packageFolder)}`].resolved;
    return typeof source === "string" ? source : undefined;
  } catch {
    return undefined;
  }
}

const TSCONFIG = {
  compilerOptions: {
    target: "ES2022",
    lib: ["ES2023"],
    module: "NodeNext",
    types: ["node"],
    strict: true,
    noUncheckedIndexedAccess: true,
    verbatimModuleSyntax: true,
    erasableSyntaxOnly: true,
    skipLibCheck: true,
    noEmit: true,
  },
  include: ["src", "test", "vitest.config.ts"],
};

const TSCONFIG_BUILD = {
  extends: "./tsconfig.json",
  compilerOptions: { noEmit: false, rootDir: "src", outDir: "dist", declaration: true, sourceMap: true },
  include: ["src"],
};

const VITEST_CONFIG = `import { defineConfig } from "vitest/config";

// Tests wait for conditions. The limits only end what hangs, so they are long enough for a slow machine.
export default defineConfig({
  test: { testTimeout: 120_000, hookTimeout: 120_000, expect: { poll: { timeout: 60_000 } } },
});
`;

function readme({ name, kind, type }: Scaffold): string {
  return `# ${name}

The ${kind} \`${type}\` for [Sluice](https://www.npmjs.com/package/sluice).

\`\`\`sh
npm install
npm test         # runs test/ against a pipeline in memory
npm run dev      # runs example.yaml, reloads what you save, and shows records
npm run check    # types
npm run build    # writes dist/
npm start        # builds, and runs example.yaml as in production
\`\`\`

The code is in \`src/index.ts\`. \`example.yaml\` loads it as a file; once the package is published, others install it
beside their config and list it:

\`\`\`yaml
plugins: [${JSON.stringify(name)}]
\`\`\`
`;
}
