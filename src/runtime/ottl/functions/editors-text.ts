import type { RecordContext } from "../paths/record-context.js";
import { plainText } from "../values/conversions.js";
import { OttlError } from "../values/error.js";
import type { OttlMap, OttlValue } from "../values/value.js";
import { editMap } from "./editors.js";
import { type CallArguments, type FunctionSpec, parameters } from "./function-spec.js";
import { type Pattern, replaceAll } from "./text/pattern.js";

/** Editors that replace and cut text. */

type Replace = (ctx: RecordContext, text: string) => string;

/** The optional converter, with the format, applied to a matching text. */
function replacementConverter(args: CallArguments): Replace | undefined {
  const convert = args.converter("function");
  const format = args.has("replacement_format") ? args.text("replacement_format") : undefined;
  if (convert === undefined) return undefined;
  return (ctx, text) => {
    const converted = convert(ctx, text);
    if (typeof converted !== "string") throw new OttlError("the replacement must be a string");
    return format === undefined ? converted : applyFormat(format(ctx), converted);
  };
}

function applyFormat(format: string, text: string): string {
  if (format.split("%s").length !== 2 || /%[^s]/.test(format))
    throw new OttlError("replacement_format needs a single %s and nothing else");
  return format.replace("%s", () => text);
}

function patternReplacer(args: CallArguments, regex = args.pattern("regex_pattern")): Replace {
  const replacement = args.text("replacement");
  const finish = replacementConverter(args);
  if (finish === undefined) return (ctx, text) => replaceAll(regex(ctx), text, replacement(ctx));
  return (ctx, text) => replaceAll(regex(ctx), text, replacement(ctx), (replaced) => finish(ctx, replaced));
}

function globReplacer(args: CallArguments): Replace {
  const glob: (ctx: RecordContext) => Pattern = args.pattern("pattern");
  const replacement = args.text("replacement");
  const finish = replacementConverter(args);
  return (ctx, text) => {
    const replaced = replacement(ctx);
    if (!glob(ctx).test(text)) return text;
    return finish === undefined ? replaced : finish(ctx, replaced);
  };
}

function replaceOne(args: CallArguments) {
  const target = args.path("target");
  const replacement = args.text("replacement");
  const mayMatch = args.mayMatch("target", "regex_pattern");
  const pattern = args.pattern("regex_pattern");
  const replace = patternReplacer(args, pattern);
  return (ctx: RecordContext): OttlValue => {
    if (mayMatch?.(ctx, pattern(ctx)) === false) {
      replacement(ctx);
      return null;
    }
    const text = target.get(ctx);
    if (typeof text !== "string") {
      if (text !== null) replacement(ctx); // an invalid replacement fails even if there is nothing to replace
      return null;
    }
    const replaced = replace(ctx, text);
    if (replaced !== text) target.set(ctx, replaced);
    return null;
  };
}

function replaceValues(replace: Replace): (map: OttlMap, ctx: RecordContext) => undefined {
  return (map, ctx) => {
    for (const [key, value] of map) if (typeof value === "string") map.set(key, replace(ctx, value));
    return undefined;
  };
}

function replaceKeys(replace: Replace): (map: OttlMap, ctx: RecordContext) => OttlMap {
  return (map, ctx) => {
    const renamed: OttlMap = new Map();
    for (const [key, value] of map) renamed.set(replace(ctx, key), value);
    return renamed;
  };
}

const OPTIONS = ["function?: converter", "replacement_format?: string"];

/** The first bytes of a text, with no character split, followed by the marker. */
function truncateUtf8(text: string, limit: number, utf8Safe: boolean, marker: string): string {
  if (text.length * 3 <= limit) return text;
  const bytes = Buffer.from(text);
  if (bytes.length <= limit) return text;
  let end = limit - Buffer.byteLength(marker);
  if (utf8Safe) while (end > 0 && (bytes[end]! & 0xc0) === 0x80) end--;
  return bytes.toString("utf8", 0, end) + marker;
}

export const TEXT_EDITORS: readonly FunctionSpec[] = [
  {
    name: "replace_pattern",
    parameters: parameters("target: path", "regex_pattern: pattern", "replacement: string", ...OPTIONS),
    returns: "",
    summary:
      "Replaces matches of the pattern in a text. The replacement may name groups ($1 or a name in braces); `function` converts it, `replacement_format` (with one %s) formats it.",
    example: 'replace_pattern(body, "password=\\\\S+", "password=***")',
    compile: replaceOne,
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
    summary: 'Replaces matches of the pattern in all texts of a map (mode "value") or in its keys (mode "key").',
    example: 'replace_all_patterns(attributes, "key", "^kube_", "k8s.")',
    compile(args) {
      const mode = args.literalText("mode");
      if (mode !== "key" && mode !== "value") args.reject("mode", 'the mode is "key" or "value"');
      const replace = patternReplacer(args);
      const { attributes } = args.path("target");
      if (attributes !== undefined && mode === "value") {
        const pattern = args.pattern("regex_pattern");
        return (ctx) => {
          attributes(ctx).replaceTexts(pattern(ctx), (text) => replace(ctx, text));
          return null;
        };
      }
      return editMap(args, mode === "key" ? replaceKeys(replace) : replaceValues(replace));
    },
  },
  {
    name: "replace_match",
    parameters: parameters("target: path", "pattern: glob", "replacement: string", ...OPTIONS),
    returns: "",
    summary: "Replaces a whole text if it matches the glob.",
    example: 'replace_match(attributes["http.target"], "/user/*", "/user/{id}")',
    compile(args) {
      const target = args.path("target");
      const glob = args.pattern("pattern");
      const replacement = args.text("replacement");
      const replace = globReplacer(args);
      return (ctx) => {
        glob(ctx);
        const text = target.get(ctx);
        replacement(ctx); // both fail if they are invalid, even if there is nothing to replace
        const replaced = typeof text === "string" ? replace(ctx, text) : text;
        if (replaced !== text) target.set(ctx, replaced);
        return null;
      };
    },
  },
  {
    name: "replace_all_matches",
    parameters: parameters("target: map path", "pattern: glob", "replacement: string", ...OPTIONS),
    returns: "",
    summary: "Replaces every text of a map that matches the glob.",
    example: 'replace_all_matches(attributes, "/user/*", "/user/{id}")',
    compile: (args) => editMap(args, replaceValues(globReplacer(args))),
  },
  {
    name: "truncate_all",
    parameters: parameters("target: map path", "limit: INT", "utf8_safe?: BOOL", "truncation_marker?: STRING"),
    returns: "",
    summary:
      "Cuts the texts of a map to at most `limit` bytes, with the marker at the end of those that were cut. A character is never split.",
    example: "truncate_all(attributes, 4096)",
    compile(args) {
      const limit = Number(args.literalInt("limit"));
      const marker = args.literalText("truncation_marker", "");
      args.literalBool("utf8_safe", true);
      if (limit < 0) args.reject("limit", "a limit cannot be negative");
      if (Buffer.byteLength(marker) > limit) args.reject("truncation_marker", "the marker is longer than the limit");
      return editMap(
        args,
        replaceValues((_, text) => truncateUtf8(text, limit, true, marker)),
      );
    },
  },
  {
    name: "stringify_all",
    parameters: parameters("target: map path"),
    returns: "",
    summary: "Converts all values of a map to text: bytes in base64, maps and lists as JSON.",
    example: "stringify_all(attributes)",
    compile: (args) =>
      editMap(args, (map) => {
        for (const [key, value] of map) map.set(key, plainText(value));
        return undefined;
      }),
  },
];
