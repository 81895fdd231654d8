import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { describe, expect, it } from "vitest";

interface Room {
  readonly path: string;
  readonly purpose: string;
  readonly imports?: readonly string[];
  readonly component?: boolean;
}

const MAX_FILES = 20;
/** Rooms that are read from one folder to the next: their folders have an order. */
const ROOMS_WITHOUT_CIRCLES = [
  "src/runtime/telemetry/",
  "src/runtime/ottl/",
  "src/runtime/kit/",
  "src/processors/",
  "src/processors/pii/",
  "src/processors/sampling/",
  "src/extensions/reliability/store/",
  "src/extensions/reliability/store/level/",
];
const DOORS = ["src/plugin.ts", "src/runtime/kit.ts"];
/** A shorter file that one other file imports belongs there, unless that would then be longer than the second number. */
const SMALL_FILE_LINES = 40;
const LONG_FILE_LINES = 300;
/** Rooms whose files are held to that. */
const ROOMS_WITHOUT_FRAGMENTS = [
  "src/receivers/",
  "src/processors/",
  "src/exporters/",
  "src/connectors/",
  "src/extensions/admin-api/",
  "src/extensions/auth/",
  "src/runtime/config/",
  "src/runtime/ottl/",
  "src/runtime/host/",
  "src/runtime/cli/",
  "src/runtime/embed/",
  "src/runtime/telemetry/",
  "src/runtime/testing/",
];
/** Lists of parts that have a file each: components, commands, routes, detectors, shells. */
const LISTS = /\/(builtins|commands|routes|completion|numbers)\.ts$/;
/** Small files that stay, and why. */
const KEPT_SMALL_FILES: Readonly<Record<string, string>> = {
  "src/extensions/admin-api/console/built-file.ts": "the single executable has another in its place",
  "src/runtime/cli/stream-errors.ts": "loaded when an agent starts, with RxJS",
  "src/runtime/embed/pino/at-exit.ts": "the only file outside of the command line that touches the process",
  "src/runtime/host/builtin-registry.ts": "belongs to the host, not to the command line that asks for it",
  "src/runtime/testing/free-port.ts": "used by tests of the whole project",
};

const project = join(import.meta.dirname, "..");
const table = new URL("../scripts/rooms.js", import.meta.url).href;
const { ROOMS } = (await import(table)) as { ROOMS: readonly Room[] };
const sources = filesBelow("src").filter((file) => file.endsWith(".ts"));

function filesBelow(folder: string): string[] {
  return readdirSync(join(project, folder), { recursive: true, withFileTypes: true })
    .filter((each) => each.isFile())
    .map((each) => relative(project, join(each.parentPath, each.name)).replaceAll("\\", "/"));
}

function importsOf(file: string): string[] {
  const text = readFileSync(join(project, file), "utf8");
  const found = text.matchAll(/(?:^|\n)\s*(?:import|export)\b[^;"']*?from\s*"([^"]+)"|import\("([^"]+)"\)/g);
  return [...found].map((match) => match[1] ?? match[2]!);
}

function targetOf(file: string, specifier: string): string | undefined {
  if (!specifier.startsWith(".")) return undefined;
  return relative(project, join(project, dirname(file), specifier))
    .replaceAll("\\", "/")
    .replace(/\.js$/, ".ts");
}

/** What a door exports. */
function namesIn(door: string): string[] {
  const text = readFileSync(join(project, door), "utf8");
  return [...text.matchAll(/^export (?:type )?\{([^}]*)\}/gm)].flatMap(([, names]) => listed(names!));
}

/** Whether a file only hands on what others export. */
function isDoor(file: string): boolean {
  const text = readFileSync(join(project, file), "utf8");
  return text.replace(/\/\*.*?\*\/|\/\/.*|export [^;]* from "[^"]+";/gs, "").trim() === "";
}

function lineCount(file: string): number {
  return readFileSync(join(project, file), "utf8").split("\n").length - 1;
}

/** What a component imports from the internal door. */
function namesFromDoor(file: string): string[] {
  const text = readFileSync(join(project, file), "utf8");
  const found = text.matchAll(/^import (?:type )?\{([^}]*)\} from "[./]*\/runtime\/kit\.js"/gm);
  return [...found].flatMap(([, names]) => listed(names!));
}

function listed(names: string): string[] {
  return names
    .split(",")
    .map((name) =>
      name
        .trim()
        .replace(/^type /, "")
        .replace(/ as .*/, ""),
    )
    .filter((name) => name !== "");
}

/** The nearest folder that says what it may import, on the way up from a file: the file's room with all its parts. */
function houseOf(file: string): Room | undefined {
  const outwards = file
    .split("/")
    .slice(0, -1)
    .map((_, i, parts) => `${parts.slice(0, parts.length - i).join("/")}/`);
  return outwards
    .map((path) => ROOMS.find((each) => each.path === path))
    .find((room) => room?.imports !== undefined || room?.component === true);
}

function isAllowed(file: string, target: string): boolean {
  if (file === "src/runtime/kit.ts") return target.startsWith("src/runtime/");
  const house = houseOf(file);
  if (house === undefined) return false;
  if (house.component === true) {
    const isFamily = house.path.split("/").length > 3;
    return DOORS.includes(target) || (isFamily && target.startsWith(house.path));
  }
  return (
    (house.path !== "src/" && target.startsWith(house.path)) ||
    (house.imports ?? []).some((each) => target.startsWith(each))
  );
}

describe("the architecture", () => {
  it("has only arrows that point the right way", () => {
    const wrong = sources.flatMap((file) =>
      importsOf(file)
        .map((specifier) => targetOf(file, specifier))
        .filter((target) => target !== undefined && !isAllowed(file, target))
        .map((target) => `${file} -> ${target}`),
    );
    expect(wrong).toEqual([]);
  });

  it.each(ROOMS_WITHOUT_CIRCLES)("has no circle of imports between the folders in %s", (room) => {
    const folderOf = (file: string) => /^([^/]+)\//.exec(file.slice(room.length))?.[1];
    const arrows = new Map<string, Set<string>>();
    for (const file of sources.filter((each) => each.startsWith(room))) {
      const from = folderOf(file);
      for (const specifier of importsOf(file)) {
        const target = targetOf(file, specifier);
        const to = target?.startsWith(room) ? folderOf(target) : undefined;
        if (from === undefined || to === undefined || from === to) continue;
        arrows.set(from, (arrows.get(from) ?? new Set()).add(to));
      }
    }
    // Folders that nothing leads out of are taken away until none is left, or only those in a circle.
    for (let before = -1; before !== arrows.size; ) {
      before = arrows.size;
      for (const [from, targets] of arrows) if (![...targets].some((to) => arrows.has(to))) arrows.delete(from);
    }
    expect([...arrows].map(([from, targets]) => `${from} -> ${[...targets].join(", ")}`)).toEqual([]);
  });

  it("has nothing in the internal door that no component uses, or that the public one has", () => {
    const internal = namesIn("src/runtime/kit.ts");
    const components = sources.filter((file) => houseOf(file)?.component === true);
    const used = new Set(components.flatMap(namesFromDoor));
    expect(internal.filter((name) => !used.has(name))).toEqual([]);
    const publicNames = namesIn("src/plugin.ts");
    expect(internal.filter((name) => publicNames.includes(name))).toEqual([]);
  });

  it("has a purpose for each folder, and a folder for each purpose", () => {
    const folders = new Set(sources.map((file) => `${dirname(file)}/`));
    expect([...folders].filter((folder) => !ROOMS.some(({ path }) => path === folder))).toEqual([]);
    expect(ROOMS.filter(({ path }) => !existsSync(join(project, path))).map(({ path }) => path)).toEqual([]);
  });

  it(`has no folder with more than ${MAX_FILES} files`, () => {
    const counts = new Map<string, number>();
    for (const file of ["src", "test", "bench", "scripts"].flatMap(filesBelow)) {
      counts.set(dirname(file), (counts.get(dirname(file)) ?? 0) + 1);
    }
    expect([...counts].filter(([, count]) => count > MAX_FILES)).toEqual([]);
  });

  it("has no file that is a fragment of the one file that imports it", () => {
    const importers = new Map<string, Set<string>>();
    for (const file of sources)
      for (const target of importsOf(file).map((each) => targetOf(file, each)))
        if (target !== undefined) importers.set(target, (importers.get(target) ?? new Set()).add(file));
    const fragments = sources.filter((file) => {
      const [importer, ...others] = importers.get(file) ?? [];
      if (importer === undefined || others.length > 0 || !ROOMS_WITHOUT_FRAGMENTS.some((room) => file.startsWith(room)))
        return false;
      const isPart = LISTS.test(importer) || isDoor(importer) || file.endsWith("/config.ts");
      const lines = lineCount(file);
      return lines < SMALL_FILE_LINES && lines + lineCount(importer) <= LONG_FILE_LINES && !isPart;
    });
    expect(fragments.sort()).toEqual(Object.keys(KEPT_SMALL_FILES).sort());
  });

  it("has the map of CONTRIBUTING made from the table of rooms", () => {
    const printed = execFileSync(process.execPath, [join(project, "scripts", "room-map.js"), "--print"], {
      encoding: "utf8",
    });
    expect(readFileSync(join(project, "CONTRIBUTING.md"), "utf8")).toBe(printed);
  });

  it("declares each type name in one file", () => {
    const declared = new Map<string, string[]>();
    for (const file of sources) {
      const text = readFileSync(join(project, file), "utf8");
      for (const [, name] of text.matchAll(
        /^(?:export )?(?:declare )?(?:abstract )?(?:interface|type|class) (\w+)/gm,
      )) {
        declared.set(name!, [...(declared.get(name!) ?? []), file]);
      }
    }
    expect([...declared].filter(([, files]) => new Set(files).size > 1)).toEqual([]);
  });

  it("keeps the telemetry room free of rxjs and of every other package", () => {
    const foreign = sources
      .filter((file) => file.startsWith("src/runtime/telemetry/"))
      .flatMap((file) =>
        importsOf(file).filter((specifier) => !specifier.startsWith(".") && !specifier.startsWith("node:")),
      );
    expect(foreign).toEqual([]);
  });

  it("has one file that knows how zod stores a schema", () => {
    const knowing = sources.filter((file) => /\._(zod|def)\b|\.def\b/.test(readFileSync(join(project, file), "utf8")));
    expect(knowing).toEqual(["src/runtime/config/schema/zod-schema.ts"]);
  });

  it("lets only the command line touch the process, and one file of the pino room hear of its end", () => {
    const touching = sources
      .filter((file) => !file.startsWith("src/runtime/cli/") && file !== "src/runtime/embed/pino/at-exit.ts")
      .filter((file) => /process\.(exit|on|once|env|argv)\b/.test(readFileSync(join(project, file), "utf8")));
    expect(touching).toEqual([]);
  });

  it("lets only `sluice run` set V8 flags and force garbage collections", () => {
    const setting = sources.filter((file) =>
      /\b(setFlagsFromString|runInNewContext|globalThis\.gc)\b/.test(readFileSync(join(project, file), "utf8")),
    );
    expect(setting).toEqual(["src/runtime/cli/v8.ts"]);
    const importing = sources.filter((file) => importsOf(file).some((each) => targetOf(file, each) === setting[0]));
    expect(importing).toEqual(["src/runtime/cli/run.ts"]);
  });
});
