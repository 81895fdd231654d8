import type { ContextName } from "../paths/context.js";

/**
 * Intentional differences between the language here and in the Collector (contrib 0.160). The reference page of
 * functions shows the list, and a test checks what each entry says about us.
 */
export interface OttlDifference {
  readonly what: string;
  /** A value to try, or with `isCondition` a condition. */
  readonly example: string;
  readonly context?: ContextName;
  readonly isCondition?: true;
  /** Statements executed before the example. */
  readonly after?: readonly string[];
  /** The Collector's result. */
  readonly there: string;
  /** The result here, or why it is rejected with the config (`refused`), or why it fails on a record (`fails`). */
  readonly here:
    | { readonly gives: string | bigint | boolean | null }
    | { readonly refused: string }
    | { readonly fails: string };
}

const FAILS_ON_RECORDS = "fails on every record";

export const DIFFERENCES: readonly OttlDifference[] = [
  {
    what: "`Format` writes maps and lists of a record like other maps and lists.",
    example: 'Format("%v", [attributes["map"]])',
    there: "addresses in memory",
    here: { gives: "map[inner:map[deep:found] n:1]" },
  },
  {
    what: "Escapes that Go refuses are kept as written: a pattern needs no second backslash.",
    example: 'IsMatch("7", "\\d")',
    there: "refused",
    here: { gives: true },
  },
  {
    what: "An XPath is checked with the config, and must pick nodes.",
    example: 'GetXML("<a/>", "hello world")',
    there: "nothing, the end of the XPath is ignored",
    here: { refused: "not a valid XPath" },
  },
  {
    what: "A list with maps can be written out.",
    example: 'SliceToMap([{"k": "a", "v": 1}], ["k"], ["v"])["a"]',
    there: "refused",
    here: { gives: 1n },
  },
  {
    what: "An integer is accepted where a double is expected.",
    example: "Log(1) == 0",
    isCondition: true,
    there: "the same, but refused by `scale_metric(2)` and `extract_percentile_metric(95)`",
    here: { gives: true },
  },
  {
    what: "A value may be in parentheses.",
    example: '("a")',
    there: "refused",
    here: { gives: "a" },
  },
  {
    what: "The lowest integer can be written.",
    example: "-9223372036854775808",
    there: "refused",
    here: { gives: -9223372036854775808n },
  },
  {
    what: "The format of `Format` may come from a record.",
    example: 'Format(attributes["text"], [])',
    there: "refused",
    here: { gives: "some text" },
  },
  {
    what: "`%o` is the month, padded with a space.",
    example: 'FormatTime(Unix(0), "%o")',
    there: "`_1`",
    here: { gives: " 1" },
  },
  {
    what: "Statements can read the index of a span event.",
    example: "event_index",
    context: "spanevent",
    there: FAILS_ON_RECORDS,
    here: { gives: 0n },
  },
  {
    what: "Functions without parameters take no arguments.",
    example: "UUID(1)",
    there: "the same as `UUID()`",
    here: { refused: "too many arguments" },
  },
  {
    what: "A lambda in any other place than a lambda parameter is refused with the config.",
    example: "String((_, v) => v)",
    there: "`{}`, or fails on every record",
    here: { refused: "only functions with a lambda parameter take one" },
  },
  {
    what: "Lists of a data point can be read by an index, and stored.",
    example: "explicit_bounds == nil",
    context: "datapoint",
    isCondition: true,
    there: "the same, but refused with an index, as in `bucket_counts[0]`, and `bucket_counts` cannot be stored",
    here: { gives: true },
  },
  {
    what: "`IsRootSpan` works in the context spanevent too.",
    example: "IsRootSpan()",
    context: "spanevent",
    isCondition: true,
    there: "not available in the context spanevent",
    here: { gives: false },
  },
  {
    what: "Grok's `SYSLOGPROG` gives `process.name` and `process.pid`.",
    example: 'ExtractGrokPatterns("prog[12]", "%{SYSLOGPROG}", true)["process.name"]',
    there: "refused, as it names nothing",
    here: { gives: "prog" },
  },
  {
    what: "The original of a URL is the URL as written.",
    example: 'URL("http://H/ü")["url.original"]',
    there: "`http://H/%C3%BC`",
    here: { gives: "http://H/ü" },
  },
  {
    what: "A client that is not a browser gets the name that it sends.",
    example: 'UserAgent("kube-probe/1.27")["user_agent.name"]',
    there: "`Other`, unless it is well known",
    here: { gives: "kube-probe" },
  },
  {
    what: "`Decode` knows the names that the Encoding Standard has for encodings, and short ones of IBM's code pages (`ibm858`), beside the registered ones.",
    example: 'Decode("a", "sjis")',
    there: "no such encoding",
    here: { gives: "a" },
  },
  {
    what: "Fractions of a second must follow the seconds.",
    example: 'FormatTime(time, "%s")',
    there: "`999999999`",
    here: { refused: "must follow a point" },
  },
  {
    what: "A lambda may get and return nil.",
    example: "MapEach([nil], (_, v) => v)[0]",
    there: FAILS_ON_RECORDS,
    here: { gives: null },
  },
  {
    what: "Addresses of clients are not kept.",
    example: "otelcol.client.addr",
    there: "the address",
    here: { gives: null },
  },
  {
    what: "`Format` knows `%v`, `%s` and `%q` of a time; others would show the insides of Go's.",
    example: 'Format("%d", [time])',
    there: "`{123456789 63835596800 0}`",
    here: { gives: "%!d(time.Time=2023-11-14 22:13:20.123456789 +0000 UTC)" },
  },
  {
    what: "All lists have the same type.",
    example: 'Format("%T", [attributes["list"]])',
    there: "`pcommon.Slice`",
    here: { gives: "[]interface {}" },
  },
  {
    what: "`Index` can find ids in a list.",
    example: "Index([trace_id], trace_id)",
    there: FAILS_ON_RECORDS,
    here: { gives: 0n },
  },
  {
    what: "Maps and lists may be appended.",
    after: ['append(attributes["list"], {"a": 1})'],
    example: 'attributes["list"][3]["a"]',
    there: FAILS_ON_RECORDS,
    here: { gives: 1n },
  },
  {
    what: "A map literal may contain a list of a record.",
    after: ['set(attributes["out"], {"k": attributes["list"]})'],
    example: 'attributes["out"]["k"][0]',
    there: FAILS_ON_RECORDS,
    here: { gives: "x" },
  },
  {
    what: "A map that is merged into itself stays as it is.",
    after: ['merge_maps(attributes["map"], attributes["map"], "upsert")'],
    example: 'attributes["map"]["n"]',
    there: "nil: all its values are lost",
    here: { gives: 1n },
  },
  {
    what: "A map that is stored in itself is copied as it was.",
    after: ['set(attributes["copy"], attributes)'],
    example: 'attributes["copy"]["copy"]',
    there: "`{}`",
    here: { gives: null },
  },
  {
    what: "`truncate_all` never cuts a character in two, whatever `utf8_safe` says.",
    after: ['set(attributes["text"], "aé")', "truncate_all(attributes, 2, false)"],
    example: 'attributes["text"]',
    there: "`a` and half of the other",
    here: { gives: "a" },
  },
  {
    what: "Functions that only the Collector's `filter` has are there in all components.",
    example: 'HasAttrKeyOnDatapoint("route")',
    context: "metric",
    isCondition: true,
    there: "refused in `transform`",
    here: { gives: true },
  },
  {
    what: "`UserAgent` knows the usual browsers. For other clients it returns only the name before the slash.",
    example: 'UserAgent("Slackbot 1.0")["user_agent.name"]',
    there: "`Slackbot`",
    here: { gives: "Other" },
  },
  {
    what: "Invalid bytes in a multi-byte encoding are replaced as in Node.js.",
    example: 'Decode(0x80, "shift_jis")',
    there: "the control character U+0080",
    here: { gives: "\ufffd" },
  },
  {
    what: "`Decode` knows Big5 without the characters of Hong Kong.",
    example: 'Decode(0x8740, "big5")',
    there: "`䏰`",
    here: { gives: "\ufffd" },
  },
  {
    what: "`Time` reads the same formats with and without a language.",
    example: 'Hour(Time("03:04 PM +02:00", "%I:%M %p %z", locale = "de"))',
    there: "fails: `%p` needs a language with AM and PM, and `%z` digits alone",
    here: { gives: 15n },
  },
  {
    what: "Invalid JSON is not parsed.",
    example: String.raw`ParseJSON("{\"a\":01}")`,
    there: "`01` is 1",
    here: { fails: "not valid JSON" },
  },
  {
    what: "Grok's `EMAILADDRESS` matches addresses.",
    example: 'ExtractGrokPatterns("a@b.co", "%{EMAILADDRESS:e}", true)["e"]',
    there: "nothing",
    here: { gives: "a@b.co" },
  },
  {
    what: "`SliceToMap` needs a key where a path is given.",
    example: 'SliceToMap(attributes["list"], [])',
    there: FAILS_ON_RECORDS,
    here: { refused: "at least one key" },
  },
  {
    what: "A cleared time is 0.",
    after: ["clear(time)"],
    example: "time_unix_nano",
    there: "`11651379494838206464`, as Go's times begin with the year 1",
    here: { gives: 0n },
  },
];
