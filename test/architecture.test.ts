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

interface Import {
  readonly specifier: string;
  /** The file it leads to; undefined for packages. */
  readonly target: string | undefined;
  readonly names: readonly string[];
  readonly isType: boolean;
  readonly isDynamic: boolean;
}

const MAX_FILES = 20;
const MAX_DOOR_NAMES = 80;
/** Files from one that nothing imports to one that imports nothing. */
const MAX_CHAIN = 20;
/** Rooms that are read from one folder to the next: their folders have an order. */
const ROOMS_WITHOUT_CIRCLES = [
  "src/runtime/",
  "src/runtime/otlp/",
  "src/runtime/ottl/",
  "src/runtime/text/",
  "src/runtime/brokers/",
  "src/processors/",
  "src/processors/pii/",
  "src/processors/sampling/",
  "src/runtime/queue/",
  "src/runtime/queue/store/",
  "src/runtime/queue/store/level/",
];
/** Files whose types need each other, because an object and its owner know each other; see "no circle of files". */
const TYPE_CIRCLES = [
  ["src/connectors/spans/span-metrics/resources.ts", "src/connectors/spans/span-metrics/series-group.ts"],
  ["src/receivers/otlp/grpc-call.ts", "src/receivers/otlp/grpc-endpoint.ts"],
  ["src/runtime/ottl/paths/message-locators.ts", "src/runtime/ottl/paths/record-context.ts"],
  ["src/runtime/receiving/requests/http-endpoint.ts", "src/runtime/receiving/requests/http-exchange.ts"],
];
/** Checksums, codecs and parsers: they work without OTTL, config and contract. */
const CODECS = [
  "src/runtime/otlp/",
  "src/runtime/codecs/",
  "src/runtime/text/",
  "src/runtime/metrics/",
  "src/runtime/traces/",
  "src/runtime/queue/store/format/",
  "src/runtime/queue/store/leveldb-files/",
  "src/processors/pii/detect/",
  "src/receivers/prometheus/exposition/",
  "src/receivers/fluent-forward/message-pack.ts",
  "src/receivers/otlp/jaeger/binary-protocol.ts",
  "src/receivers/otlp/jaeger/compact-protocol.ts",
  "src/receivers/otlp/jaeger/proto-reader.ts",
  "src/receivers/zipkin/read-zipkin.ts",
];
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
  "src/runtime/otlp/",
  "src/agent/",
];
/** Lists of parts that have a file each: components, commands, routes, detectors, shells. */
const LISTS = /\/(builtins\/\w+|commands|routes|completion|numbers)\.ts$/;
/** Small files that stay, and why. */
const KEPT_SMALL_FILES: Readonly<Record<string, string>> = {
  "src/extensions/admin-api/console/built-file.ts": "the single executable has another in its place",
  "src/agent/embed/pino/at-exit.ts": "the only file outside of the command line that touches the process",
  "src/processors/pii/mask-text.ts": "belongs to the detectors, not to the agent that installs it",
  "src/agent/testing/free-port.ts": "used by tests of the whole project",
  "src/runtime/ottl/trials/trial-thread.ts": "the main module of a thread",
  "src/runtime/ottl/trials/trial-thread-file.ts": "the executable has another file in its place",
};

const project = join(import.meta.dirname, "..");
const table = new URL("../scripts/rooms.js", import.meta.url).href;
const { ROOMS, COMPONENT_ROOMS } = (await import(table)) as {
  ROOMS: readonly Room[];
  COMPONENT_ROOMS: readonly string[];
};
const { imports } = JSON.parse(readFileSync(join(project, "package.json"), "utf8")) as {
  imports: Readonly<Record<string, { "sluice-source"?: string }>>;
};
const sources = filesBelow("src").filter((file) => file.endsWith(".ts"));
const importsOf = new Map(sources.map((file) => [file, readImports(file)]));
const doors = sources.filter((file) => file.endsWith("/door.ts"));
/** `#otlp/tags` and `#otlp/metric-tags`: generated files that are imported directly. */
const TAG_DOORS = Object.values(imports).flatMap(({ "sluice-source": path }) =>
  path === undefined || path.includes("*") ? [] : [path.replace("./", "")],
);

function filesBelow(folder: string): string[] {
  return readdirSync(join(project, folder), { recursive: true, withFileTypes: true })
    .filter((each) => each.isFile())
    .map((each) => relative(project, join(each.parentPath, each.name)).replaceAll("\\", "/"));
}

function readImports(file: string): Import[] {
  const text = readFileSync(join(project, file), "utf8");
  const statements = text.matchAll(
    /(?:^|\n)\s*(?:import|export)\b(?<clause>[^;"']*?)from\s*"(?<specifier>[^"]+)"|(?<type>typeof )?\bimport\("(?<lazy>[^"]+)"\)/g,
  );
  return [...statements].map(({ groups }) => {
    const specifier = (groups!["specifier"] ?? groups!["lazy"])!;
    const clause = groups!["clause"] ?? "";
    const list = /\{([^}]*)\}/.exec(clause)?.[1];
    const types = listed(list ?? "").filter(({ isType }) => isType);
    const names = listed(list ?? "");
    const isType = /^\s*type\b/.test(clause) || (names.length > 0 && types.length === names.length);
    return {
      specifier,
      target: targetOf(file, specifier),
      names: names.map(({ name }) => name),
      isType: isType || groups!["type"] !== undefined,
      isDynamic: groups!["lazy"] !== undefined,
    };
  });
}

function listed(names: string): { name: string; isType: boolean }[] {
  return names
    .split(",")
    .map((each) => each.trim())
    .filter((each) => each !== "")
    .map((each) => ({ name: each.replace(/^type /, "").replace(/ as .*/, ""), isType: each.startsWith("type ") }));
}

function targetOf(file: string, specifier: string): string | undefined {
  if (specifier.startsWith("#")) {
    const found = (imports[specifier] ?? imports["#*"]!)["sluice-source"]!;
    return found.replace("./", "").replace("*", specifier.slice(1));
  }
  if (!specifier.startsWith(".")) return undefined;
  return relative(project, join(project, dirname(file), specifier))
    .replaceAll("\\", "/")
    .replace(/\.js$/, ".ts");
}

/** Returns the names that a door exports. */
function namesIn(door: string): string[] {
  const text = readFileSync(join(project, door), "utf8");
  return [...text.matchAll(/^export (?:(?:type )?\{([^}]*)\}|\* as (\w+)|const (\w+))/gm)].flatMap(
    ([, list, whole, constant]) => (list === undefined ? [(whole ?? constant)!] : listed(list).map(({ name }) => name)),
  );
}

/** Whether a file only hands on what others export. */
function isDoor(file: string): boolean {
  const text = readFileSync(join(project, file), "utf8");
  return text.replace(/\/\*.*?\*\/|\/\/.*|export [^;]* from "[^"]+";/gs, "").trim() === "";
}

function textOf(file: string): string {
  return readFileSync(join(project, file), "utf8");
}

function lineCount(file: string): number {
  return readFileSync(join(project, file), "utf8").split("\n").length - 1;
}

function linesOf(file: string): { readonly place: string; readonly text: string }[] {
  return textOf(file)
    .split("\n")
    .map((text, i) => ({ place: `${file}:${i + 1}`, text }));
}

/** Whether a line has a number in place of the tag of a field; only a declaration is one in any file. */
function isBareTag(line: string, usesWire: boolean): boolean {
  return /\bconst (?!MAX_)\w*_TAG = [1-9]/.test(line) || (usesWire && BARE_TAGS.some((pattern) => pattern.test(line)));
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

function isAllowed(file: string, { specifier, target, isDynamic }: Import): boolean {
  const house = houseOf(file);
  if (house === undefined || target === undefined) return target === undefined;
  if (specifier.startsWith("#")) {
    const { component = false, imports: own = [] } = house;
    const rooms = component ? [...COMPONENT_ROOMS, ...own] : own;
    return existsSync(join(project, target)) && rooms.includes(specifier.slice(1).split("/")[0]!);
  }
  if (house.component === true) {
    const isFamily = house.path.split("/").length > 3;
    return target === "src/plugin.ts" || (isFamily && target.startsWith(house.path));
  }
  // The doors of the package reach what they hand on where it is.
  if (house.path === "src/") return /^src\/(runtime|agent|processors\/versioning)\//.test(target);
  if (house.path !== "src/agent/") return target.startsWith(house.path);
  // A module that is loaded on demand may be imported past its door, so that the rest of its room is not loaded.
  return target.startsWith("src/agent/") || !target.startsWith("src/runtime/") || isDynamic;
}

/** The files that are loaded with one. Texts of files that commands write have imports too, which lead nowhere here. */
function loadedBy(file: string): string[] {
  return importsOf
    .get(file)!
    .filter(({ target, isType, isDynamic }) => importsOf.has(target ?? "") && !isType && !isDynamic)
    .map(({ target }) => target!);
}

/** The longest way down from each file. */
const chains = new Map<string, readonly string[]>();
function chainFrom(file: string): readonly string[] {
  const known = chains.get(file);
  if (known !== undefined) return known;
  let longest: readonly string[] = [];
  for (const target of loadedBy(file)) {
    const chain = chainFrom(target);
    if (chain.length > longest.length) longest = chain;
  }
  chains.set(file, [file, ...longest]);
  return chains.get(file)!;
}

/** Returns the groups of files in which each file leads to all others, types included (Tarjan's algorithm). */
function circlesOfFiles(): string[][] {
  const found: string[][] = [];
  const stack: string[] = [];
  const index = new Map<string, number>();
  const lowest = new Map<string, number>();
  const visit = (file: string) => {
    index.set(file, index.size);
    lowest.set(file, index.get(file)!);
    stack.push(file);
    for (const { target, isDynamic } of importsOf.get(file)!) {
      if (isDynamic || target === undefined || !importsOf.has(target)) continue;
      if (!index.has(target)) visit(target);
      if (stack.includes(target)) lowest.set(file, Math.min(lowest.get(file)!, lowest.get(target)!));
    }
    if (lowest.get(file) !== index.get(file)) return;
    const circle = stack.splice(stack.indexOf(file));
    if (circle.length > 1) found.push(circle.sort());
  };
  for (const file of sources) if (!index.has(file)) visit(file);
  return found.sort();
}

function reachedFrom(file: string, seen = new Set<string>()): Set<string> {
  if (!seen.has(file)) {
    seen.add(file);
    for (const target of loadedBy(file)) reachedFrom(target, seen);
  }
  return seen;
}

/** The files that the lists of built-in components load. */
function componentFiles(): string[] {
  const lists = sources.filter((file) => file.startsWith("src/agent/builtins/"));
  const loaded = lists.flatMap((file) => importsOf.get(file)!.filter(({ isDynamic }) => isDynamic));
  return [...new Set(loaded.map(({ target }) => target!))];
}

const isSingleFile = (file: string) => /^src\/\w+\/[^/]+\.ts$/.test(file);

/**
 * Files that read the wire format field by field. All other code uses `nextBody`, `stepOver` and the readers that
 * scripts/wire-readers.js generates.
 */
const FIELD_LOOPS = [
  /\.generated\.ts$/,
  // decode.ts and write-json.ts have no loop: they only look for the end of one value.
  /^src\/runtime\/otlp\/(bytes\/(wire|any-value|key-value|decode|door)|json\/write-json|views\/record-walk)\.ts$/,
  // A walk that can pause in any field, and one that writes while it reads.
  /^src\/processors\/pii\/fields\/rewrite-fields\.ts$/,
  /^src\/runtime\/ottl\/paths\/editable-message\.ts$/,
];
/** Tables of the tags or field numbers of a format; the OTLP one makes the generated files. */
const TAG_TABLES = [
  "src/runtime/otlp/bytes/messages.ts",
  "src/runtime/traces/jaeger-proto.ts",
  "src/runtime/traces/zipkin-span.ts",
  "src/receivers/prometheus/exposition/client-model.ts",
  "src/exporters/prometheus/remote-write/tags.ts",
];
/** Imports of a file that reads or writes protobuf or thrift. */
const WIRE_ROOMS =
  /\/otlp\/(?:bytes|views)\/|\/traces\/door\.ts$|\/(?:proto-fields|proto-reader|thrift-reader|client-model)\.ts$/;
/** A number where the tag or number of a field belongs. Tags are at least 8. */
const BARE_TAGS = [
  /\b(?:tag|fieldTag|dataTag|wire) [!=]== [1-9]/,
  /\b(?:field|number|id) [!=]== [1-9]/,
  /^\s*case [1-9]\d*:/,
  /(?<!\.)\b(?:nextBody|eachBody|findField|findAttribute|message)\((?:[^(),]+, ){3}\d/,
  /\bthis\.(?:read|write|text|number|time|ranges|views)\(\d/,
  /\b(?:intField|textField|bytesField|fieldRange)\(.*, [1-9]\d*\)|\bwriteFields\(\[\d/,
  /\.(?:byte|varint)\((?:.*[?:] )?(?:[89]|[1-9]\d+)\b(?![.x_])/,
  /\b(?:write\w*|field|message|text|bytes|integer|fixed\d+|attributes?|lengthDelimited)\((?:\w+\.)?(?:out|writer|head), \d+[,)]/,
  /\b(?:a|b|before|bytes|head|rest)\[[^\]]+\]!? (?:[!=]==|=) (?:[89]|[1-9]\d+)\b/,
  /\bUint8Array\.of\((?:[89]|[1-9]\d+)\b/,
  /\b(?:attributes|data|exemplar|flags|metric|record)Tag: [1-9]|^\s*\[[1-9]\d*, [a-z]/,
];

describe("the architecture", () => {
  it("has only arrows that point the right way, from room to room through doors", () => {
    const wrong = sources.flatMap((file) =>
      importsOf
        .get(file)!
        .filter((each) => !isAllowed(file, each))
        .map(({ specifier }) => `${file} -> ${specifier}`),
    );
    expect(wrong).toEqual([]);
  });

  it("has rooms on floors: each imports only those above it in the table", () => {
    const floors = ROOMS.flatMap(({ path }) => /^src\/runtime\/(\w+)\/$/.exec(path)?.[1] ?? []);
    const wrong = ROOMS.filter(({ path }) => path.startsWith("src/runtime/")).flatMap(({ path, imports = [] }) => {
      const floor = floors.indexOf(path.split("/")[2]!);
      return imports.filter((each) => floors.indexOf(each) >= floor).map((each) => `${path} -> ${each}`);
    });
    expect(wrong).toEqual([]);
    expect(floors).toEqual(
      readdirSync(join(project, "src/runtime")).toSorted((a, b) => floors.indexOf(a) - floors.indexOf(b)),
    );
  });

  it("lets no room of the runtime know a component", () => {
    const arrows = sources
      .filter((file) => file.startsWith("src/runtime/"))
      .flatMap((file) => importsOf.get(file)!.map(({ target }) => `${file} -> ${target}`))
      .filter((arrow) => !/ -> (src\/runtime\/.*|undefined)$/.test(arrow));
    expect(arrows).toEqual([]);
  });

  it.each([...doors, ...TAG_DOORS])(`hands on at most ${MAX_DOOR_NAMES} names in %s`, (door) => {
    expect(namesIn(door).length).toBeGreaterThan(0);
    expect(namesIn(door).length).toBeLessThanOrEqual(MAX_DOOR_NAMES);
  });

  it.each(doors)("has in %s only what its own room declares and another one uses", (door) => {
    const room = houseOf(door)!.path;
    expect(importsOf.get(door)!.filter(({ target }) => !target!.startsWith(room))).toEqual([]);
    const used = new Set(
      sources.flatMap((file) => importsOf.get(file)!.flatMap(({ target, names }) => (target === door ? names : []))),
    );
    expect(namesIn(door).filter((name) => !used.has(name))).toEqual([]);
    expect(
      readFileSync(join(project, door), "utf8")
        .replace(/^export [^;]*;$/gm, "")
        .trim(),
    ).toMatch(/^\/\*\* [^*]*\*\/$/);
  });

  it("has a component take from the contract by the public door what the public door has", () => {
    const publicNames = new Set(namesIn("src/plugin.ts"));
    const wrong = sources
      .filter((file) => houseOf(file)?.component === true)
      .flatMap((file) =>
        importsOf
          .get(file)!
          .filter(({ specifier }) => specifier.startsWith("#contract"))
          .flatMap(({ names }) => names.filter((name) => publicNames.has(name)).map((name) => `${file}: ${name}`)),
      );
    expect(wrong).toEqual([]);
  });

  it(`has no chain of imports longer than ${MAX_CHAIN} files, and no circle`, () => {
    const longest = sources.map(chainFrom).reduce((a, b) => (b.length > a.length ? b : a));
    expect(longest.slice(MAX_CHAIN)).toEqual([]);
  });

  it("has no circle of files, types included", () => {
    expect(circlesOfFiles()).toEqual(TYPE_CIRCLES);
  });

  it.each(CODECS)("keeps %s free of OTTL, config and contract", (path) => {
    const files = sources.filter((file) => file.startsWith(path));
    expect(files).not.toEqual([]);
    const wrong = files.flatMap((file) =>
      [...reachedFrom(file)]
        .filter((each) => /^src\/runtime\/(ottl|config|contract)\//.test(each))
        .map((each) => `${file} -> ${each}`),
    );
    expect(wrong).toEqual([]);
  });

  it.each(ROOMS_WITHOUT_CIRCLES)("has no circle of imports between the folders in %s", (room) => {
    const folderOf = (file: string) => /^([^/]+)\//.exec(file.slice(room.length))?.[1];
    const arrows = new Map<string, Set<string>>();
    for (const file of sources.filter((each) => each.startsWith(room))) {
      // A door is for those outside, and may hand on from any folder of its room.
      const from = file.endsWith("/door.ts") ? undefined : folderOf(file);
      for (const { target } of importsOf.get(file)!) {
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

  it("has a purpose for each folder, and a folder for each purpose", () => {
    const folders = new Set(sources.map((file) => `${dirname(file)}/`));
    expect([...folders].filter((folder) => !ROOMS.some(({ path }) => path === folder))).toEqual([]);
    expect(ROOMS.filter(({ path }) => !existsSync(join(project, path))).map(({ path }) => path)).toEqual([]);
  });

  it("has each component in one file of its kind's folder, or in a folder with component.ts and config.ts", () => {
    const files = componentFiles();
    expect(files.length).toBeGreaterThan(70);
    const folders = files.filter((file) => !isSingleFile(file));
    expect(folders.filter((file) => !file.endsWith("/component.ts"))).toEqual([]);
    expect(folders.filter((file) => !existsSync(join(project, dirname(file), "config.ts")))).toEqual([]);
    const all = sources.filter((file) => file.endsWith("/component.ts") && !file.startsWith("src/runtime/"));
    expect(all.sort()).toEqual(folders.sort());
  });

  it("has the schemas of components in their config.ts", () => {
    const folders = componentFiles().filter((file) => !isSingleFile(file));
    const withSchema = folders.filter((file) => importsOf.get(file)!.some(({ specifier }) => specifier === "zod"));
    expect(withSchema).toEqual([]);
    const elsewhere = folders.filter(
      (file) => !importsOf.get(file)!.some(({ specifier }) => specifier === "./config.js"),
    );
    expect(elsewhere).toEqual([]);
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
      for (const { target } of importsOf.get(file)!)
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

  it("has docs/contributing/map.md made from the table of rooms", () => {
    const printed = execFileSync(process.execPath, [join(project, "scripts", "room-map.js"), "--print"], {
      encoding: "utf8",
    });
    expect(textOf("docs/contributing/map.md")).toBe(printed);
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

  /** An import reads every property of the module, and one of them loads the WebSocket client of Node.js 24: 45 ms. */
  it("takes node:http by process.getBuiltinModule, so that starting takes no longer than it must", () => {
    const takes = (file: string) =>
      importsOf.get(file)!.some(({ specifier, isType }) => specifier === "node:http" && !isType);
    expect(sources.filter((file) => takes(file) && !file.startsWith("src/agent/cli/create/"))).toEqual([]);
  });

  it("has shared and generated readers step over the fields of messages, and no loops of its own", () => {
    const own = sources.filter((file) => !FIELD_LOOPS.some((pattern) => pattern.test(file)));
    const takesSkip = ({ target, names }: Import) =>
      /\/bytes\/(wire|door)\.ts$/.test(target ?? "") && names.includes("skip");
    expect(own.filter((file) => importsOf.get(file)!.some(takesSkip))).toEqual([]);
  });

  it("names the tags of fields where it reads and writes them", () => {
    const usesWire = (file: string) => importsOf.get(file)!.some(({ target }) => WIRE_ROOMS.test(target ?? ""));
    const found = sources
      .filter((file) => !file.endsWith(".generated.ts") && !TAG_TABLES.includes(file))
      .flatMap((file) => linesOf(file).filter(({ text }) => isBareTag(text, usesWire(file))))
      .map(({ place, text }) => `${place}: ${text.trim()}`);
    expect(found).toEqual([]);
  });

  it.each([
    "out.byte(10);",
    "writer.byte(isWide ? 80 : 64);",
    "this.exemplar(exemplar, this.tag === 42);",
    "writeText(out, 18, value);",
    "bytes[at++] = 25;",
    "if (head[at] !== 10) return;",
    "      case 4:",
    "return this.time(11);",
    "const TRUE = Uint8Array.of(16, 1);",
    "const NAME_TAG = 10;",
    "gauge: { dataTag: 42, rest: [] },",
    "      [18, name],",
    "const at = findField(b, start, end, 26);",
    "if (fields.field === 1) name = fields.text();",
  ])("recognises a bare tag in `%s`", (line) => {
    expect(isBareTag(line, true)).toBe(true);
  });

  it("needs every constant in the tables of tags", () => {
    const tables = [...TAG_TABLES, ...sources.filter((file) => file.endsWith("tags.generated.ts"))];
    const declared = tables.flatMap((file) =>
      [...textOf(file).matchAll(/^export const ([A-Z]\w*) = \d/gm)].map(([, name]) => name!),
    );
    expect(declared.length).toBeGreaterThan(100);
    const used = new Set(sources.flatMap((file) => importsOf.get(file)!.flatMap(({ names }) => names)));
    expect(declared.filter((name) => !used.has(name))).toEqual([]);
  });

  it("keeps the room of OTLP free of rxjs and of every other package", () => {
    const foreign = sources
      .filter((file) => file.startsWith("src/runtime/otlp/"))
      .flatMap((file) => importsOf.get(file)!.map(({ specifier }) => specifier))
      .filter((specifier) => !specifier.startsWith(".") && !specifier.startsWith("node:"));
    expect(foreign).toEqual([]);
  });

  it("has one file that knows how zod stores a schema", () => {
    const knowing = sources.filter((file) => /\._(zod|def)\b|\.def\b/.test(readFileSync(join(project, file), "utf8")));
    expect(knowing).toEqual(["src/runtime/config/schema/zod-schema.ts"]);
  });

  it("starts every HTTP server of the agent in one place", () => {
    const creating = sources
      .filter((file) => !file.startsWith("src/agent/cli/"))
      .filter((file) => /createServer\b[^;]*"node:https?"|"node:https?"\)\s*\.createServer/.test(textOf(file)));
    expect(creating).toEqual(["src/runtime/net/http-server.ts"]);
  });

  it("lets only the command line touch the process, and one file of the pino room hear of its end", () => {
    const touching = sources
      .filter((file) => !file.startsWith("src/agent/cli/") && file !== "src/agent/embed/pino/at-exit.ts")
      .filter((file) => /process\.(exit|on|once|env|argv)\b/.test(readFileSync(join(project, file), "utf8")));
    expect(touching).toEqual([]);
  });

  it("lets only `sluice run` set V8 flags and force garbage collections", () => {
    const setting = sources.filter((file) =>
      /\b(setFlagsFromString|runInNewContext|globalThis\.gc)\b/.test(readFileSync(join(project, file), "utf8")),
    );
    expect(setting).toEqual(["src/agent/cli/v8.ts"]);
    const importing = sources.filter((file) => importsOf.get(file)!.some(({ target }) => target === setting[0]));
    expect(importing).toEqual(["src/agent/cli/run.ts", "src/agent/cli/workers/worker-child.ts"]);
  });
});
