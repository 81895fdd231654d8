import { toText } from "../conversions.js";
import { OttlError } from "../error.js";
import { type Arguments, type FunctionSpec, parameters } from "../function-spec.js";
import { type Pattern, replaceAll } from "../pattern.js";
import type { Scene } from "../scene.js";
import type { OttlMap, OttlValue } from "../value.js";
import { editMap } from "./editors.js";

/** Editors that replace and cut text. */

type Replace = (scene: Scene, text: string) => string;

/** What a matching text becomes, with the optional converter and format applied. */
function finisher(args: Arguments): (scene: Scene, text: string) => string {
  const convert = args.converter("function");
  const format = args.has("replacement_format") ? args.text("replacement_format") : undefined;
  if (convert === undefined) return (_, text) => text;
  return (scene, text) => {
    const converted = convert(scene, text);
    if (typeof converted !== "string") throw new OttlError("the replacement must be a string");
    return format === undefined ? converted : formatted(format(scene), converted);
  };
}

function formatted(format: string, text: string): string {
  if (format.split("%s").length !== 2 || /%[^s]/.test(format))
    throw new OttlError("replacement_format needs a single %s and nothing else");
  return format.replace("%s", () => text);
}

function patternReplacer(args: Arguments): Replace {
  const regex = args.pattern("regex_pattern");
  const replacement = args.text("replacement");
  const finish = finisher(args);
  return (scene, text) => replaceAll(regex(scene), text, replacement(scene), (replaced) => finish(scene, replaced));
}

function globReplacer(args: Arguments): Replace {
  const glob: (scene: Scene) => Pattern = args.pattern("pattern");
  const replacement = args.text("replacement");
  const finish = finisher(args);
  return (scene, text) => (glob(scene).test(text) ? finish(scene, replacement(scene)) : text);
}

function replaceOne(args: Arguments, replace: Replace) {
  const target = args.path("target");
  return (scene: Scene): OttlValue => {
    const text = target.get(scene);
    if (typeof text !== "string") return null;
    const replaced = replace(scene, text);
    if (replaced !== text) target.set(scene, replaced);
    return null;
  };
}

function replaceValues(replace: Replace): (map: OttlMap, scene: Scene) => undefined {
  return (map, scene) => {
    for (const [key, value] of map) if (typeof value === "string") map.set(key, replace(scene, value));
    return undefined;
  };
}

function replaceKeys(replace: Replace): (map: OttlMap, scene: Scene) => OttlMap {
  return (map, scene) => {
    const renamed: OttlMap = new Map();
    for (const [key, value] of map) renamed.set(replace(scene, key), value);
    return renamed;
  };
}

const OPTIONS = ["function?: converter", "replacement_format?: string"];

/** The first bytes of a text, with no character cut in two, and the marker behind them. */
function truncated(text: string, limit: number, whole: boolean, marker: string): string {
  if (text.length * 3 <= limit) return text;
  const bytes = Buffer.from(text);
  if (bytes.length <= limit) return text;
  let end = limit - Buffer.byteLength(marker);
  if (whole) while (end > 0 && (bytes[end]! & 0xc0) === 0x80) end--;
  return bytes.toString("utf8", 0, end) + marker;
}

export const TEXT_EDITORS: readonly FunctionSpec[] = [
  {
    name: "replace_pattern",
    parameters: parameters("target: path", "regex_pattern: pattern", "replacement: string", ...OPTIONS),
    returns: "",
    summary:
      "Replaces what matches the pattern in a text. The replacement may name groups ($1 or a name in braces); `function` converts it, `replacement_format` (with one %s) puts it in a frame.",
    example: 'replace_pattern(body, "password=\\\\S+", "password=***")',
    make: (args) => replaceOne(args, patternReplacer(args)),
  },
  {
    name: "replace_all_patterns",
    parameters: parameters(
      "target: map path",
      "mode: STRING",
      "regex_pattern: pattern",
      "replacement: string",
      ...OPTIONS,
    ),
    returns: "",
    summary: 'Replaces what matches the pattern in all texts of a map (mode "value") or in its keys (mode "key").',
    example: 'replace_all_patterns(attributes, "key", "^kube_", "k8s.")',
    make(args) {
      const mode = args.literalText("mode");
      if (mode !== "key" && mode !== "value") args.refuse("mode", 'the mode is "key" or "value"');
      const replace = patternReplacer(args);
      return editMap(args, mode === "key" ? replaceKeys(replace) : replaceValues(replace));
    },
  },
  {
    name: "replace_match",
    parameters: parameters("target: path", "pattern: glob", "replacement: string", ...OPTIONS),
    returns: "",
    summary: "Replaces a whole text if it matches the glob.",
    example: 'replace_match(attributes["http.target"], "/user/*", "/user/{id}")',
    make: (args) => replaceOne(args, globReplacer(args)),
  },
  {
    name: "replace_all_matches",
    parameters: parameters("target: map path", "pattern: glob", "replacement: string", ...OPTIONS),
    returns: "",
    summary: "Replaces every text of a map that matches the glob.",
    example: 'replace_all_matches(attributes, "/user/*", "/user/{id}")',
    make: (args) => editMap(args, replaceValues(globReplacer(args))),
  },
  {
    name: "truncate_all",
    parameters: parameters("target: map path", "limit: INT", "utf8_safe?: BOOL", "truncation_marker?: STRING"),
    returns: "",
    summary:
      "Cuts the texts of a map to at most `limit` bytes, with the marker at the end of those that were cut. A character is never cut in two.",
    example: "truncate_all(attributes, 4096)",
    make(args) {
      const limit = Number(args.literalInt("limit"));
      const marker = args.literalText("truncation_marker", "");
      args.literalBool("utf8_safe", true);
      if (limit < 0) args.refuse("limit", "a limit cannot be negative");
      if (Buffer.byteLength(marker) > limit) args.refuse("truncation_marker", "the marker is longer than the limit");
      return editMap(
        args,
        replaceValues((_, text) => truncated(text, limit, true, marker)),
      );
    },
  },
  {
    name: "stringify_all",
    parameters: parameters("target: map path"),
    returns: "",
    summary: "Makes all values of a map text: bytes in base64, maps and lists as JSON.",
    example: "stringify_all(attributes)",
    make: (args) =>
      editMap(args, (map) => {
        for (const [key, value] of map) map.set(key, toText(value, "base64") ?? "");
        return undefined;
      }),
  },
];
