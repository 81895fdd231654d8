import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { compileCondition, compileStatement } from "../../../../src/runtime/ottl/compile/compile.js";
import { FUNCTIONS } from "../../../../src/runtime/ottl/functions/table.js";
import type { ContextName } from "../../../../src/runtime/ottl/paths/context.js";
import { OttlDuration, OttlTime } from "../../../../src/runtime/ottl/values/value.js";
import { batchFor, edited, evaluate, evaluateAfter, LOG, text } from "../../../support/telemetry/ottl.js";
import { MORE_CONVERTERS, MORE_FAILURES, MORE_MISTAKES, PLACES } from "./more-converters.js";

const time = (iso: string, extraNanos = 0n) => BigInt(Date.parse(iso)) * 1_000_000n + extraNanos;
const sha = (algorithm: string) => createHash(algorithm).update("name").digest("hex");

const CONVERTERS: readonly (readonly [expression: string, value: unknown, context?: ContextName])[] = [
  ['Concat(["a", 1, 1.5, true, nil, 0x0a], "-")', "a-1-1.5-true-<nil>-0a"],
  ['Concat([attributes["map"]], "")', '{"inner":{"deep":"found"},"n":1}'],
  ['Concat([], ",")', ""],
  ['Concat(delimiter = ":", vals = ["a", "b"])', "a:b"],
  ['Split("a|b||c", "|")', ["a", "b", "", "c"]],
  ['Split("añ", "")', ["a", "ñ"]],
  ['Split("a,b", ",")[1]', "b"],
  ['Substring("123456789", 3, 3)', "456"],
  ['Substring("一二三", 0, 4, true)', "一"],
  ['Len("日本")', 6n],
  ['Len(attributes["list"])', 3n],
  ['Len(attributes["map"])', 2n],
  ["Len([])", 0n],
  ['Trim("  a b  ")', "a b"],
  ['Trim("xxaxx", "x")', "a"],
  ['TrimPrefix("abc", "ab")', "c"],
  ['TrimPrefix("abc", "x")', "abc"],
  ['TrimSuffix("abc", "bc")', "a"],
  ['TrimSuffix("abc", "")', "abc"],
  ['HasPrefix("abc", "ab")', true],
  ['HasPrefix("abc", "b")', false],
  ['HasSuffix("abc", "bc")', true],
  ['ToLowerCase("AbC")', "abc"],
  ['ToUpperCase("AbC")', "ABC"],
  ['ToSnakeCase("someHTTPName")', "some_http_name"],
  ['ToCamelCase("some_name")', "SomeName"],
  ['ConvertCase("myMetric", "snake")', "my_metric"],
  ['ConvertCase("my_metric", "camel")', "MyMetric"],
  ['ConvertCase("aB", "lower")', "ab"],
  ['ConvertCase("aB", "upper")', "AB"],
  ['Int("12")', 12n],
  ['Int("-12")', -12n],
  ["Int(1.9)", 1n],
  ["Int(-1.9)", -1n],
  ["Int(true)", 1n],
  ["Int(nil)", null],
  ['Double("1.5")', 1.5],
  ["Double(2)", 2],
  ["Double(false)", 0],
  ["String(12)", "12"],
  ["String(1.5)", "1.5"],
  ["String(2.0)", "2"],
  ["String(true)", "true"],
  ["String(nil)", null],
  ["String(0x0aff)", "0aff"],
  ['String([1, "a", nil, 0x01])', '[1,"a",null,"AQ=="]'],
  ['String({"b": 1, "a": "<"})', '{"a":"\\u003c","b":1}'],
  ["String(span_id)", "[1,2,3,4,5,6,7,8]"],
  ['Bool("true")', true],
  ['Bool("0")', false],
  ["Bool(2)", true],
  ["Bool(0.0)", false],
  ["Bool(nil)", null],
  ['IsMatch("some text", "^some")', true],
  ['IsMatch("some text", "^text")', false],
  ['IsMatch(attributes["int"], "^4")', true],
  ['IsMatch(attributes["missing"], ".*")', false],
  ['IsMatch("a", attributes["text"])', false],
  ['IsMatch("x", "(a+)+$")', false],
  ['IsString("a")', true],
  ['IsString(attributes["int"])', false],
  ["IsInt(1)", true],
  ['IsInt(attributes["whole"])', false],
  ['IsInt(attributes["whole"])', false],
  ["IsDouble(1.0)", true],
  ['IsDouble(attributes["whole"])', true],
  ["IsBool(true)", true],
  ["IsMap(body)", true],
  ['IsMap(attributes["list"])', false],
  ["IsList([])", true],
  ["IsList({})", false],
  ["IsList(events)", true, "span"],
  ["IsEmpty(nil)", true],
  ['IsEmpty("")', true],
  ["IsEmpty(0)", true],
  ['IsEmpty("a")', false],
  ["IsEmpty({})", true],
  ["IsEmpty(trace_id)", false],
  ["IsRootSpan()", false, "span"],
  ['Coalesce([attributes["missing"], nil, "x", "y"])', "x"],
  ["Coalesce([nil])", null],
  ['ParseJSON(attributes["json"])', { a: [1, { b: "c" }], n: null }],
  ['ParseJSON(attributes["json"])["a"][1]["b"]', "c"],
  ['ParseJSON("[1,2]")', [1, 2]],
  ['ParseJSON("{\\"__proto__\\": 1}")["__proto__"]', 1],
  ['ParseKeyValue("k1=v1 k2=v2")', { k1: "v1", k2: "v2" }],
  ['ParseKeyValue("k1!v1_k2!v2", "!", "_")', { k1: "v1", k2: "v2" }],
  ['ParseKeyValue("a=\\"x y\\" b=2")', { a: "x y", b: "2" }],
  ['ParseKeyValue("a=1=2  b= 3 ", pair_delimiter = "  ")', { a: "1=2", b: "3" }],
  ['ParseCSV("1,Joe,j@x", "id,name,mail")', { id: "1", name: "Joe", mail: "j@x" }],
  ['ParseCSV("a|b", "x|y", delimiter = "|")', { x: "a", y: "b" }],
  ['ParseCSV("\\"a,\\"\\"b\\"\\"\\",c", "x,y")', { x: 'a,"b"', y: "c" }],
  ['ParseCSV("\\"a,b", "x,y", mode = "ignoreQuotes")', { x: '"a', y: "b" }],
  ['ParseCSV("a \\"q\\" b,c", "x,y", mode = "lazyQuotes")', { x: 'a "q" b', y: "c" }],
  ['ParseCSV("a,b", "x|y", headerDelimiter = "|")', { x: "a", y: "b" }],
  ['ExtractPatterns("user=joe id=7", "user=(?P<user>\\\\w+) id=(?P<id>\\\\d+)")', { user: "joe", id: "7" }],
  ['ExtractPatterns("none", "user=(?P<user>\\\\w+)")', {}],
  [
    'ExtractGrokPatterns("10.0.0.1 GET 200 1.5 true", "%{IP:client.ip} %{WORD:method} %{NUMBER:status:int} %{NUMBER:took:float} %{BOOL:ok:boolean}", true)',
    { "client.ip": "10.0.0.1", method: "GET", status: 200n, took: 1.5, ok: true },
  ],
  ['ExtractGrokPatterns("abc 7", "%{WORD} %{NUMBER:n}")', { WORD: "abc", n: "7", BASE10NUM: "7" }],
  ['ExtractGrokPatterns("abc 7", "%{WORD} %{NUMBER:n}", true)', { n: "7" }],
  ['ExtractGrokPatterns("a:", "%{WORD:k}:%{DATA:v}$", true)', { k: "a" }],
  ['ExtractGrokPatterns("k=v", Concat(["%{WORD:a}", "%{WORD:b}"], "="), true)', { a: "k", b: "v" }],
  ['ExtractGrokPatterns("7", "%{NUMBER:n:string}", true)', { n: "7" }],
  ['ExtractGrokPatterns("1", "%{INT:ok:bool}", true)', { ok: true }],
  [
    'ExtractGrokPatterns("smith:pw", "%{USERNAME:user.name}:%{PASSWORD:pw}", true, ["PASSWORD=%{WORD}"])',
    { "user.name": "smith", pw: "pw" },
  ],
  [
    'ExtractGrokPatterns("2023-01-02T03:04:05Z INFO x", "%{TIMESTAMP_ISO8601:t} %{LOGLEVEL:l} %{GREEDYDATA:m}", true)',
    { t: "2023-01-02T03:04:05Z", l: "INFO", m: "x" },
  ],
  ['ExtractGrokPatterns("x", "%{INT:n}", true)', {}],
  ['SHA256("name")', sha("sha256")],
  ['SHA512("name")', sha("sha512")],
  ['SHA1("name")', sha("sha1")],
  ['MD5("name")', sha("md5")],
  ['FNV("")', -3750763034362895579n],
  ['FNV("a")', -5808556873153909620n],
  ['Hex("1")', "31"],
  ["Hex(1.1)", "3ff199999999999a"],
  ["Hex(12)", "000000000000000c"],
  ["Hex(true)", "01"],
  ["Hex(0x02)", "02"],
  ['Base64Decode("aGVsbG8gd29ybGQ=")', "hello world"],
  ['Base64Encode("hello")', "aGVsbG8="],
  ['Base64Encode("hello?>", "base64-raw-url")', "aGVsbG8_Pg"],
  ['Decode("aGVsbG8=", "base64")', "hello"],
  ['Decode(0x68c3a9, "utf-8")', "hé"],
  ["Log(1)", 0],
  ['Log("1")', 0],
  ['Values({"a": 1, "b": "x"})', [1n, "x"]],
  ['Keys({"a": 1, "b": 2})', ["a", "b"]],
  ["ContainsValue([1, 2], 2)", true],
  ["ContainsValue([1, 2], 2.0)", true],
  ['ContainsValue(attributes["list"], "y")', false],
  ['Index("hello world", "world")', 6n],
  ['Index("日本", "本")', 3n],
  ['Index(attributes["list"], 1)', 1n],
  ["Index([1], 2)", -1n],
  ["Sort([3, 1, 2])", [1n, 2n, 3n]],
  ['Sort([3, 1.5, 2], "desc")', [3n, 2n, 1.5]],
  ['Sort(["b", "a"])', ["a", "b"]],
  ["Sort([true, false])", [false, true]],
  ['Sort([3, "20", 1.5])', [1.5, "20", 3n]],
  ['SliceToMap([{"name": "foo", "value": 2}], ["name"], ["value"])', { foo: 2n }],
  ['SliceToMap(["a"])', { "0": "a" }],
  ['TraceID("0102030405060708090a0b0c0d0e0f10")', Uint8Array.from({ length: 16 }, (_, i) => i + 1)],
  ["SpanID(0x0102030405060708)", Uint8Array.from({ length: 8 }, (_, i) => i + 1)],
  ["Unix(1, 5)", new OttlTime(1_000_000_005n)],
  ["UnixNano(Unix(1, 5))", 1_000_000_005n],
  ["UnixMicro(Unix(1, 5000))", 1_000_005n],
  ["UnixMilli(Unix(1, 5000000))", 1005n],
  ["UnixSeconds(Unix(7, 5))", 7n],
  ["UnixSeconds(Unix(-1, -1))", -2n],
  ['Duration("1h30m")', new OttlDuration(5_400_000_000_000n)],
  ['Duration("-1.5s")', new OttlDuration(-1_500_000_000n)],
  ['Duration("100us")', new OttlDuration(100_000n)],
  ['Hours(Duration("90m"))', 1.5],
  ['Minutes(Duration("90s"))', 1.5],
  ['Seconds(Duration("1500ms"))', 1.5],
  ['Milliseconds(Duration("1.5s"))', 1500n],
  ['Microseconds(Duration("1ms"))', 1000n],
  ['Nanoseconds(Duration("1us"))', 1000n],
  ['UnixNano(TruncateTime(Unix(3661), Duration("1h")))', 3_600_000_000_000n],
  ["Year(Unix(0))", 1970n],
  ["Month(Unix(86400000))", 9n],
  ["Day(Unix(86400))", 2n],
  ["Weekday(Unix(0))", 4n],
  ["Hour(Unix(3600))", 1n],
  ["Minute(Unix(60))", 1n],
  ["Second(Unix(61))", 1n],
  ["Nanosecond(Unix(1, 7))", 7n],
  ['UnixNano(Time("2023-05-06 07:08:09", "%Y-%m-%d %H:%M:%S"))', time("2023-05-06T07:08:09Z")],
  ['UnixNano(Time("06/May/2023:07:08:09 -0200", "%d/%b/%Y:%H:%M:%S %z"))', time("2023-05-06T09:08:09Z")],
  ['UnixNano(Time("2023-07-01 12:00", "%Y-%m-%d %H:%M", "Europe/Berlin"))', time("2023-07-01T10:00:00Z")],
  ['UnixNano(Time("2023-01-01 12:00", "%Y-%m-%d %H:%M", "America/New_York"))', time("2023-01-01T17:00:00Z")],
  ['UnixNano(Time("May 6, 2023 7:08:09 pm", "%B %g, %Y %l:%M:%S %P"))', time("2023-05-06T19:08:09Z")],
  ['UnixNano(Time("2023-05-06 07:08:09,5", "%F %T,%L"))', time("2023-05-06T07:08:09.500Z")],
  ['FormatTime(Unix(0), "%Y-%m-%d %H:%M:%S")', "1970-01-01 00:00:00"],
  ['FormatTime(Unix(0, 123456789), "%T.%L|%A|%h|%e|%I%p|%j")', "00:00:00.123|Thursday|Jan| 1|12AM|+00:00"],
  ['FormatTime(Time("2023-07-01 12:00", "%Y-%m-%d %H:%M", "Europe/Berlin"), "%H:%M %z")', "12:00 +0200"],
  ['Format("%04d-%02d", [7, 3])', "0007-03"],
  ['Format("%s|%v|%q|%5s|%-5s|", ["a", 1, "x", "b", "c"])', 'a|1|"x"|    b|c    |'],
  ['Format("%x %X %o %b %c", [255, 255, 8, 5, 65])', "ff FF 10 101 A"],
  ['Format("%.2f %e %g %t %%", [1.234, 1500.0, 0.5, true])', "1.23 1.500000e+03 0.5 true %"],
  ['Format("%d", ["a"])', "%!d(string=a)"],
  ['Format("%d %d", [1])', "1 %!d(MISSING)"],
  ['Format("a", [1])', "a%!(EXTRA int64=1)"],
  [
    'URL("https://u:p@example.com:8080/a/b.txt?q=1#f")',
    {
      "url.original": "https://u:p@example.com:8080/a/b.txt?q=1#f",
      "url.domain": "example.com",
      "url.scheme": "https",
      "url.path": "/a/b.txt",
      "url.port": 8080n,
      "url.fragment": "f",
      "url.user_info": "u:p",
      "url.username": "u",
      "url.password": "p",
      "url.query": "q=1",
      "url.extension": "txt",
    },
  ],
  ['Int("+7")', 7n],
  ["Int(1.0e300)", -9_223_372_036_854_775_808n],
  ['Double("1e3")', 1000],
  ['Double("-.5")', -0.5],
  ['Double("inf")', Number.POSITIVE_INFINITY],
  ['Double("-Inf")', Number.NEGATIVE_INFINITY],
  ["Double(nil)", null],
  ["Double(9007199254740993)", 9_007_199_254_740_992],
  ['Bool("T")', true],
  ["Bool(0)", false],
  ["Bool(-0.5)", true],
  ["String(1.0e21)", "1e+21"],
  ["String(1.0e-7)", "1e-07"],
  ["String(123456789012.5)", "123456789012.5"],
  ['String("")', ""],
  ["String({})", "{}"],
  ["String([])", "[]"],
  ['String({"\\U0001f600": 1, "\\uff5e": 2})', '{"\uff5e":2,"\u{1f600}":1}'],
  ["String(trace_id)", "[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16]"],
  ['Concat(["a"], "-")', "a"],
  ['Concat([true, nil], "")', "true<nil>"],
  ['Concat([attributes["list"], attributes["missing"]], "|")', '["x",1,0.5]|<nil>'],
  ['Split("", ",")', [""]],
  ['Split("abc", "x")', ["abc"]],
  ['Split(",a,", ",")', ["", "a", ""]],
  ['Substring("abc", 0, 3)', "abc"],
  ['Substring("日本", 3, 3)', "本"],
  ['Substring("一二三", 1, 5, true)', "二"],
  ["Len(0x010203)", 3n],
  ['Len("")', 0n],
  ["Len({})", 0n],
  ['Len(attributes["bytes"])', 3n],
  ['Trim("")', ""],
  ['Trim("\\t a \\n")', "\t a \n"],
  ['Trim("abcba", "ab")', "c"],
  ['Trim("aaa", "a")', ""],
  ['Trim("日a日", "日")', "a"],
  ['TrimPrefix("", "a")', ""],
  ['TrimPrefix("aab", "a")', "ab"],
  ['TrimSuffix("baa", "a")', "ba"],
  ['HasPrefix("abc", "")', true],
  ['HasPrefix("a", "ab")', false],
  ['HasSuffix("abc", "")', true],
  ['HasSuffix("abc", "ab")', false],
  ['ToUpperCase("straße")', "STRAßE"],
  ['ToLowerCase("ΑΣ")', "ας".replace("ς", "σ")],
  ['ToSnakeCase("CPUUtilizationMetric")', "cpu_utilization_metric"],
  ['ToSnakeCase("simple-string.x y")', "simple_string_x_y"],
  ['ToSnakeCase("http2Server10x")', "http_2_server_10_x"],
  ['ToSnakeCase("")', ""],
  ['ToCamelCase("HTTPServer")', "Httpserver"],
  ['ToCamelCase("CONSTANT_CASE")', "ConstantCase"],
  ['ToCamelCase("AnyKind of_string")', "AnyKindOfString"],
  ['ToCamelCase("numbers2and55with000")', "Numbers2And55With000"],
  ['ToCamelCase("a/b")', "Ab"],
  ['ConvertCase("", "camel")', ""],
  ['IsMatch("a\\nb", "a.b")', false],
  ['IsMatch("a\\nb", "(?s)a.b")', true],
  ['IsMatch("", "^$")', true],
  ['IsMatch(true, "^true$")', true],
  ['IsMatch(1.5, "^1\\\\.5$")', true],
  ['IsMatch(attributes["map"], "found")', true],
  ['IsMatch("abc", Concat(["b", "$"], ""))', false],
  ['IsString(attributes["missing"])', false],
  ['IsString(attributes["missing"])', false],
  ['IsString(attributes["empty"])', true],
  ['IsInt(attributes["missing"])', false],
  ['IsInt(attributes["int"])', true],
  ['IsInt(attributes["text"])', false],
  ['IsDouble(attributes["int"])', false],
  ['IsBool(attributes["text"])', false],
  ['IsBool(attributes["no"])', true],
  ['IsMap(attributes["missing"])', false],
  ["IsMap(resource.attributes)", true],
  ["IsList(nil)", false],
  ['IsList(attributes["list"])', true],
  ["IsList(data_points)", true, "metric"],
  ["IsEmpty([])", true],
  ["IsEmpty(0.0)", true],
  ["IsEmpty(false)", true],
  ["IsEmpty(0x00)", false],
  ["IsEmpty(0x0000000000000000)", false],
  ["IsEmpty(SpanID(0x0000000000000000))", true],
  ["IsEmpty(parent_span_id)", false, "span"],
  ['IsEmpty(attributes["none"])', true],
  ['IsEmpty(attributes["missing"])', true],
  ["IsEmpty(Unix(0))", false],
  ['IsEmpty(Duration("0"))', true],
  ['ParseJSON("{}")', {}],
  ['ParseJSON("[]")', []],
  ['ParseJSON(" {\\"a\\": 1} ")', { a: 1 }],
  ['ParseJSON("{\\"a\\":1,\\"a\\":2}")', { a: 2 }],
  ['IsDouble(ParseJSON("[1]")[0])', true],
  ['ParseJSON("{\\"n\\":9007199254740993}")["n"]', 9_007_199_254_740_992],
  ['ParseKeyValue("a=1")', { a: "1" }],
  ['ParseKeyValue(" a=1  b=2 ")', { a: "1", b: "2" }],
  ['ParseKeyValue("a=1 a=2")', { a: "2" }],
  ["ParseKeyValue(\"a='x=y z'\")", { a: "x=y z" }],
  ['ParseKeyValue("a=\\"x \\\\\\" y\\"")', { a: 'x \\" y' }],
  ['ParseKeyValue("a==")', { a: "=" }],
  ['ParseKeyValue("a:: 1|| b::2", "::", "||")', { a: "1", b: "2" }],
  ['ParseCSV("a", "x")', { x: "a" }],
  ['ParseCSV(",", "x,y")', { x: "", y: "" }],
  ['ParseCSV("a\\tb", "x\\ty", "\\t")', { x: "a", y: "b" }],
  ['ParseCSV("\\"a\\nb\\",c", "x,y")', { x: "a\nb", y: "c" }],
  ['ParseCSV("a,b", "x;y", headerDelimiter = ";")', { x: "a", y: "b" }],
  ['ExtractPatterns("ab", "(?P<x>a)(?P<y>z)?")', { x: "a", y: "" }],
  ['ExtractPatterns("aXbXc", "X(?P<rest>.*)")', { rest: "bXc" }],
  ['FNV("hello")', -6_615_550_055_289_275_125n],
  ['SHA256("")', createHash("sha256").update("").digest("hex")],
  ["Hex(nil)", ""],
  ['Hex("")', ""],
  ["Hex(-1)", "ffffffffffffffff"],
  ['Base64Decode("")', ""],
  ['Base64Encode("é")', "w6k="],
  ['Base64Encode("a", "base64-url")', "YQ=="],
  ['Decode("YQ", "base64-raw")', "a"],
  ['Decode("w6k", "base64-raw-url")', "é"],
  ['Decode(0x68e9, "iso-8859-1")', "hé"],
  ['Decode(0x80e9, "l1")', "\u0080é"],
  ['Decode(0x80e9, "csISOLatin1")', "\u0080é"],
  ['Decode(0x80e9, "cp819")', "\u0080é"],
  ['Decode(0x688287, "IBM850")', "héç"],
  ['Decode(0x68d5, "cp00858")', "h€"],
  ['Decode(0x8851, "ebcdic-cp-us")', "hé"],
  ['Decode(0x88519f, "IBM01140")', "hé€"],
  ["Log(2.718281828459045)", 1],
  ["Log(true)", 0],
  ["Values({})", []],
  ["Keys({})", []],
  ['Keys(attributes["map"])', ["inner", "n"]],
  ['ContainsValue(["a", "b"], "a")', true],
  ["ContainsValue([nil], nil)", true],
  ["ContainsValue([], 1)", false],
  ["ContainsValue([[1]], [1])", true],
  ['ContainsValue([true], "true")', false],
  ['Index("abc", "")', 0n],
  ['Index("abc", "z")', -1n],
  ["Index([nil, 1], nil)", 0n],
  ["Sort([])", []],
  ["Sort([2, 1.5, 10])", [1.5, 2n, 10n]],
  ['Sort(["b", nil, "a"])', [null, "a", "b"]],
  ['Sort([true, 2, "a"])', [2n, "a", true]],
  ["Sort([{}, 1])", [{}, 1n]],
  ["SliceToMap([])", {}],
  ['SliceToMap([{"k": "a", "v": {"w": 1}}], ["k"], ["v", "w"])', { a: 1n }],
  ['SliceToMap([{"k": "a"}], key_path = ["k"])', { a: { k: "a" } }],
  ["SpanID(1)", Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 1)],
  ['SpanID("ABcd567890123456")', Uint8Array.of(0xab, 0xcd, 0x56, 0x78, 0x90, 0x12, 0x34, 0x56)],
  ['SpanID("8 bytes!")', new Uint8Array(Buffer.from("8 bytes!"))],
  ["Unix(-1)", new OttlTime(-1_000_000_000n)],
  ["UnixMilli(Unix(-1, 999999999))", -1n],
  ['Duration("0")', new OttlDuration(0n)],
  ['Duration("1.5h")', new OttlDuration(5_400_000_000_000n)],
  ['Duration("+1ms2us3ns")', new OttlDuration(1_002_003n)],
  ['Hours(Duration("-30m"))', -0.5],
  ['Milliseconds(Duration("1999us"))', 1n],
  ["Seconds(Unix(10) - Unix(4))", 6],
  ['UnixNano(TruncateTime(Unix(100), Duration("0s")))', 100_000_000_000n],
  ["Weekday(Unix(259200))", 0n],
  ['Year(Time("0001-01-01", "%Y-%m-%d"))', 1n],
  ['UnixNano(Time("1/2/06 3:04", "%q/%g/%y %l:%M"))', time("2006-01-02T03:04:00Z")],
  ['UnixNano(Time("2023-05-06T07:08:09+02:00", "%Y-%m-%dT%H:%M:%S%j"))', time("2023-05-06T05:08:09Z")],
  ['Format("%v", [nil])', "<nil>"],
  ['Format("%s", [nil])', "%!s(<nil>)"],
  ['Format("%v %v", [[1, "a"], {"b": 2, "a": 1}])', "[1 a] map[a:1 b:2]"],
  ['Format("%v", [Unix(0, 5)])', "1970-01-01 00:00:00.000000005 +0000 UTC"],
  ['Format("%v|%s|%d", [Duration("90m"), Duration("1500us"), Duration("1us")])', "1h30m0s|1.5ms|1000"],
  ['Format("%.1f", [1.0e22])', "10000000000000000000000.0"],
  ['Format("%+d % d %x", [5, 5, "hi"])', "+5  5 6869"],
  ['Format("%08.3f|%-6d|%6s", [3.14159, 42, "x"])', "0003.142|42    |     x"],
  ['Format("100%", [])', "100%!(NOVERB)"],
  ['URL("mailto:joe@example.com")["url.path"]', ""],
  ['URL("/only/path?x=1")["url.query"]', "x=1"],
  ['URL("http://[::1]:80/")["url.domain"]', "::1"],
  ['URL("http://[fe80::1%25eth%30]/")["url.domain"]', "fe80::1%eth0"],
  ['URL("http://m%C3%BCnchen.de/")["url.domain"]', "münchen.de"],
  ['URL("http://example.com/a%20b")["url.path"]', "/a b"],
  ['URL("?a=1&b=2&a=3")', { query: { a: ["1", "3"], b: ["2"] } }],
  ['UserAgent("curl/7.81.0")["user_agent.name"]', "curl"],
  ['UserAgent("curl/7.81.0")["user_agent.version"]', "7.81.0"],
  [
    'UserAgent("Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Safari/537.36")',
    {
      "user_agent.original":
        "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Safari/537.36",
      "user_agent.name": "Chrome",
      "user_agent.version": "120.0.0",
      "os.name": "Windows",
      "os.version": "10",
    },
  ],
];

describe("another converter", () => {
  it.each(MORE_CONVERTERS)("%s gives the right value", (expression, value) => {
    expect(evaluate(expression)).toStrictEqual(value);
  });

  it.each(PLACES)("%s gives the right value", (expression, value) => {
    expect(evaluate(expression)).toStrictEqual(value);
  });

  it.each(MORE_FAILURES)("%s fails on the record", (expression, reason) => {
    expect(() => evaluate(expression)).toThrow(reason);
  });

  it.each(MORE_MISTAKES)("%s does not compile", (expression, reason) => {
    expect(() => compileStatement(`set(attributes["x"], ${expression})`, "log")).toThrow(reason);
  });
});

describe("a converter", () => {
  it.each(CONVERTERS.map(([e, v, c = "log"]) => [e, v, c] as const))(
    "%s gives the right value",
    (expression, value, context) => {
      expect(evaluate(expression, context)).toStrictEqual(value);
    },
  );

  it.each([
    ['Substring("abc", 1, 5)', /past the end/],
    ['Substring("abc", -1, 1)', /cannot be negative/],
    ['Substring("abc", 0, 0)', /must be above 0/],
    ['Split(attributes["int"], ",")', /Split, target: expected string, got int/],
    ['ToLowerCase(attributes["missing"])', /expected string, got nil/],
    ["Len(1)", /int has no length/],
    ["Log(0)", /number above 0/],
    ["Log(nil)", /number above 0/],
    ['ParseJSON("{")', /not valid JSON/],
    ['ParseJSON("1")', /object or a list/],
    ['ParseJSON(attributes["json"])["zz"]', /no key "zz"/],
    ['ParseJSON(attributes["json"])[0]', /indexed by a string/],
    ['ParseKeyValue("a")', /no "=" in "a"/],
    ['ParseKeyValue("")', /empty/],
    ['ParseKeyValue("a=\'b")', /does not end/],
    ['ParseCSV("a", "x,y")', /1 fields, the header 2/],
    ['ParseCSV("a\\"b,c", "x,y")', /a quote in a field/],
    ['Time("nope", "%Y")', /does not fit its format/],
    ['Time("2023-13", "%Y-%m")', /out of range/],
    ['Duration("soon")', /is no duration/],
    ['TraceID("ab")', /32 hex digits/],
    ["TraceID(0x01)", /16 bytes or 32 hex digits, got 1 bytes/],
    ["TraceID(nil)", /got 0 bytes/],
    ['TraceID(attributes["text"])', /32 hex digits, got 9 bytes/],
    [`SpanID("${"zz".repeat(8)}")`, /16 hex digits/],
    ["SpanID([])", /needs 8 bytes or 16 hex digits/],
    ['Base64Decode("***")', /not valid base64/],
    ['Sort("a")', /expected list/],
    ["Sort(nil)", /expected list/],
    ['URL("")', /empty/],
    ['URL("http://a:b:c/")', /host and port/],
    ['URL("http://%41/")', /escapes nothing in a host/],
    ['URL("http://h%")', /escapes nothing in a host/],
    ['URL("http://[%41]/")', /escapes nothing in a host/],
    ['ParseJSON("[1e999]")', /does not fit a double/],
    ['ParseJSON("null")', /object or a list/],
    ['ParseCSV("", "x")', /row is empty/],
    ['ParseCSV("a", attributes["empty"])', /header is empty/],
    ['ExtractGrokPatterns("x9", "%{DATA:n:int}$", true)', /"x9" of n is no int/],
    ['ExtractGrokPatterns("x", Concat(["%{NOTHING:n}"], ""))', /no such grok pattern/],
    ['ExtractPatterns("x", Concat(["("], ""))', /not a valid pattern/],
    ['IsMatch("x", Concat(["("], ""))', /not a valid pattern/],
    ['IsMatch("x", attributes["missing"])', /expected string, got nil/],
    ['Log("x")', /is no number/],
    ['Log("")', /is no number/],
    ["Log(-1)", /number above 0/],
    ["Len(nil)", /nil has no length/],
    ["Len(true)", /bool has no length/],
    ['Index(attributes["text"], 1)', /needs a string, got int/],
    ["Index(1, 1)", /string or list, got int/],
    ['ContainsValue(attributes["text"], "s")', /expected list, got string/],
    ['Keys(attributes["missing"])', /expected map, got nil/],
    ['Values(attributes["list"])', /expected map, got list/],
    ['Format(attributes["int"], [])', /expected string, got int/],
    ["Hex({})", /map cannot become bytes/],
    ['SHA256(attributes["int"])', /expected string, got int/],
    ['Base64Decode("aGVsbG8")', /not valid base64/],
    ['Decode(1, "base64")', /string or bytes/],
    ["UnixNano(nil)", /expected time, got nil/],
    ['Hours("1h")', /expected duration, got string/],
    ['TruncateTime(Unix(1), "1h")', /expected duration, got string/],
    ['Time("", "%Y")', /does not fit/],
    ['Duration("")', /is no duration/],
    ['Duration("1")', /is no duration/],
    ['Duration("10000000h")', /too long/],
    ['SliceToMap([1], ["name"])', /key of an item is not a string/],
    ['SliceToMap([{"a": 1}], ["a"])', /key of an item is not a string/],
    ['SliceToMap([{"a": "x"}], ["a"], ["b"])', /no such value/],
    ['Substring("abc", 3, 1)', /past the end/],
    ['Substring("abc", 9223372036854775807, 9223372036854775807)', /past the end/],
    ['Substring(attributes["missing"], 0, 1)', /expected string, got nil/],
    ['Concat(["a"], attributes["int"])', /expected string, got int/],
    ['String(Double("nan"))', /no form in JSON/],
    ["Keys(1)", /expected map|expected a/],
    ['UnixNano(attributes["int"])', /expected time, got int/],
  ])("%s is an error", (expression, message) => expect(() => evaluate(expression)).toThrow(message));

  it("gives a new id every time", () => {
    expect(evaluate("UUID()")).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(evaluate("UUIDv7()")).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(evaluate("UUID()")).not.toBe(evaluate("UUID()"));
  });

  it("tells the time", () => {
    const now = evaluate("UnixMilli(Now())") as bigint;
    expect(Math.abs(Number(now) - Date.now())).toBeLessThan(60_000);
    expect((evaluate("UnixNano(Now())") as bigint) % 1_000_000n).toBe(0n);
  });

  it("tells a root span by its missing or empty parent", () => {
    expect(evaluate("IsRootSpan()", "span", batchFor("span", { name: "root" }))).toBe(true);
    expect(evaluate("IsRootSpan()", "span", batchFor("span", { parentSpanId: new Uint8Array(8) }))).toBe(true);
  });

  it("takes a time without a year for the nearest past", () => {
    const year = new Date().getUTCFullYear();
    const found = evaluate('Year(Time("Jan 1 00:00:00", "%b %g %H:%M:%S"))');
    expect([BigInt(year), BigInt(year - 1)]).toContain(found);
  });

  it("refuses JSON that is nested without end, and huge JSON is only as slow as it is long", () => {
    const deep = batchFor("log", { body: text(`${'{"a":'.repeat(5000)}1${"}".repeat(5000)}`) });
    expect(() => evaluate("ParseJSON(body)", "log", deep)).toThrow(/nested more than/);
    const wide = batchFor("log", { body: text(`[${"1,".repeat(200_000)}1]`) });
    expect(evaluate("Len(ParseJSON(body))", "log", wide)).toBe(200_001n);
  });
});

const EDITORS: readonly (readonly [statement: string, expression: string, value: unknown, context?: ContextName])[] = [
  ['set(attributes["a"], "x")', 'attributes["a"]', "x"],
  ["clear(attributes)", "attributes", {}],
  ['clear(attributes["text"])', 'attributes["text"]', ""],
  ['clear(attributes["missing"])', 'attributes["missing"]', null],
  ['clear(attributes["list"])', 'attributes["list"]', []],
  ["clear(severity_number)", "severity_number", 0n],
  ["clear(trace_id)", "IsEmpty(trace_id)", true],
  ["clear(time)", "time_unix_nano", 0n],
  ['set(trace_id, TraceID("00000000000000000000000000000000"))', "IsEmpty(trace_id)", true],
  ['set(body, {"a": "<&>", "b": [1.5, Double("NaN")]})', "body.string", '{"a":"<&>","b":[1.5,"NaN"]}'],
  ['set_semconv_span_name("1.37.0", "was")', "name", "GET /health", "span"],
  ['set(attributes["text"], attributes["missing"])', 'attributes["text"]', "some text"],
  ['set(attributes["a"], attributes["whole"])', 'IsDouble(attributes["a"])', true],
  ['set(attributes["a"], 2.0)', 'IsDouble(attributes["a"])', true],
  ['set(attributes["a"], "x") where severity_number > 100', 'attributes["a"]', null],
  ['set(attributes["a"], "x") where severity_number < 100', 'attributes["a"]', "x"],
  ['set(body, ParseJSON(attributes["json"]))', 'body["a"][1]["b"]', "c"],
  ["set(attributes, resource.attributes)", "attributes", { "service.name": "checkout", replicas: 3n }],
  ['delete_key(attributes, "password")', 'attributes["password"]', null],
  ['delete_key(attributes, "nothing")', "Len(attributes)", 14n],
  ['delete_key(attributes["map"], "n")', 'attributes["map"]', { inner: { deep: "found" } }],
  ['delete_key(body, "message")', "Keys(body)", ["user"]],
  ['delete_key(resource.attributes, "replicas")', "resource.attributes", { "service.name": "checkout" }],
  ['delete_key(attributes, attributes["missing"]) where false', "Len(attributes)", 14n],
  ['delete_matching_keys(attributes, "^(pass|te)")', "Len(attributes)", 12n],
  ['keep_matching_keys(attributes, "^(pass|te)")', "Keys(attributes)", ["text", "password"]],
  ['keep_keys(attributes, ["int", "text", "zz"])', "attributes", { text: "some text", int: 42n }],
  ["keep_keys(attributes, [])", "attributes", {}],
  ['limit(attributes, 2, ["password"])', "Keys(attributes)", ["text", "password"]],
  ["limit(attributes, 100, [])", "Len(attributes)", 14n],
  ["limit(attributes, 0, [])", "Len(attributes)", 0n],
  ["truncate_all(attributes, 4)", 'attributes["text"]', "some"],
  ['truncate_all(attributes, 6, truncation_marker = "..")', 'attributes["text"]', "some.."],
  ['replace_pattern(attributes["text"], "t(.)xt", "<$1>")', 'attributes["text"]', "some <e>"],
  ['replace_pattern(attributes["text"], "(?P<w>\\\\w+)", "$w!$$$9")', 'attributes["text"]', "some!$ text!$"],
  ['replace_pattern(attributes["text"], "text", "a$b")', 'attributes["text"]', "some a"],
  [
    'replace_pattern(attributes["text"], "t..t", "$0", MD5)',
    'attributes["text"]',
    `some ${createHash("md5").update("text").digest("hex")}`,
  ],
  [
    'replace_pattern(attributes["text"], "t..t", "x", MD5, "h:%s")',
    'attributes["text"]',
    `some h:${createHash("md5").update("x").digest("hex")}`,
  ],
  ['replace_pattern(attributes["int"], "4", "5")', 'attributes["int"]', 42n],
  ['replace_pattern(attributes["missing"], "4", "5")', 'attributes["missing"]', null],
  ['replace_pattern(attributes["text"], "", "-")', 'attributes["text"]', "-s-o-m-e- -t-e-x-t-"],
  ['replace_pattern(attributes["text"], "e*", "-")', 'attributes["text"]', "-s-o-m- -t-x-t-"],
  ['replace_pattern(attributes["text"], "$", "!")', 'attributes["text"]', "some text!"],
  ['replace_pattern(attributes["text"], "(s)(o)", "\u0024{2}\u0024{1}x")', 'attributes["text"]', "osxme text"],
  ['replace_pattern(attributes["text"], "(s)", "$1x")', 'attributes["text"]', "ome text"],
  ['replace_all_patterns(attributes, "value", "e", "E")', 'attributes["text"]', "somE tExt"],
  ['replace_all_patterns(attributes, "key", "^pass(.*)", "p_$1")', 'attributes["p_word"]', "secret"],
  ['replace_match(attributes["text"], "some*", "all")', 'attributes["text"]', "all"],
  ['replace_match(attributes["text"], "ome*", "all")', 'attributes["text"]', "some text"],
  ['replace_match(attributes["text"], "s?me [a-t]ex{t,u}", "all")', 'attributes["text"]', "all"],
  ['replace_all_matches(attributes, "se*", "***")', 'attributes["password"]', "***"],
  [
    'replace_all_matches(attributes, "se*", "x", SHA1)',
    'attributes["password"]',
    createHash("sha1").update("x").digest("hex"),
  ],
  [
    'merge_maps(attributes, {"text": "new", "zz": 1}, "insert")',
    '[attributes["text"], attributes["zz"]]',
    ["some text", 1n],
  ],
  [
    'merge_maps(attributes, {"text": "new", "zz": 1}, "update")',
    '[attributes["text"], attributes["zz"]]',
    ["new", null],
  ],
  ['merge_maps(attributes, {"text": "new", "zz": 1}, "upsert")', '[attributes["text"], attributes["zz"]]', ["new", 1n]],
  ['merge_maps(attributes, ParseJSON(attributes["json"]), "upsert")', 'attributes["a"][1]["b"]', "c"],
  ["flatten(body)", "body", { "user.id": 7n, "user.tags.0": "a", "user.tags.1": "b", message: "hello" }],
  ['flatten(body, "p", 1)', "body", { "p.user.id": 7n, "p.user.tags": ["a", "b"], "p.message": "hello" }],
  [
    "flatten(body, resolveConflicts = true)",
    "body",
    { "user.id": 7n, "user.tags": "a", "user.tags.0": "b", message: "hello" },
  ],
  ['append(attributes["list"], "new")', 'attributes["list"]', ["x", 1n, 0.5, "new"]],
  ['append(attributes["text"], "b")', 'attributes["text"]', ["some text", "b"]],
  ['append(attributes["fresh"], values = ["a", 1])', 'attributes["fresh"]', ["a", 1n]],
  ['delete_index(attributes["list"], 0)', 'attributes["list"]', [1n, 0.5]],
  ['delete_index(attributes["list"], 0, 2)', 'attributes["list"]', [0.5]],
  ["stringify_all(attributes)", '[attributes["int"], attributes["bytes"], attributes["none"]]', ["42", "AQL/", ""]],
];

describe("an editor", () => {
  it.each(EDITORS.map(([t, e, v, c = "log"]) => [t, e, v, c] as const))(
    "%s changes %s",
    (statement, expression, value, context) => {
      expect(evaluateAfter(statement, expression, context)).toStrictEqual(value);
    },
  );

  it.each([
    'set(attributes["text"], "some text")',
    'set(attributes["a"], nil)',
    'delete_key(attributes, "nothing")',
    'delete_matching_keys(attributes, "^zz")',
    'keep_matching_keys(attributes, ".")',
    "limit(attributes, 100, [])",
    "truncate_all(attributes, 1000)",
    'replace_pattern(attributes["text"], "zz", "y")',
    'replace_all_patterns(attributes, "value", "zz", "y")',
    'replace_all_patterns(attributes, "key", "zz", "y")',
    'replace_match(attributes["text"], "zz", "y")',
    'merge_maps(attributes, {}, "upsert")',
    'merge_maps(attributes, {"text": "x"}, "insert")',
    "flatten(resource.attributes)",
    'set(cache["a"], "x")',
    'set(body, "x") where false',
    "set(severity_number, 9)",
  ])("%s that changes nothing leaves the same batch", (statement) => {
    const batch = batchFor("log", { ...LOG });
    expect(edited(statement, "log", batch)).toBe(batch);
  });

  it.each([
    ['delete_key(body, "a")', { body: text("x") }, /expected map, got string/],
    ['keep_keys(body, ["a"])', { body: text("x") }, /expected a map to edit, got string/],
    ['merge_maps(attributes, body, "insert")', { body: text("x") }, /expected map, got string/],
    ['delete_index(attributes["list"], 7)', undefined, /out of bounds/],
    ['replace_pattern(attributes["text"], "t", "x", Len)', undefined, /must be a string/],
    ['replace_pattern(attributes["text"], "t", "x", MD5, "%s%s")', undefined, /single %s/],
  ] as const)("%s fails on a record that does not fit", (statement, thing, message) => {
    expect(() => edited(statement, "log", batchFor("log", thing))).toThrow(message);
  });

  it("sees what the statements before it did", () => {
    const statements = [
      'set(attributes["a"], "1")',
      'set(attributes["b"], Concat([attributes["a"], "2"], ""))',
      'delete_key(attributes, "a")',
      'set(severity_text, attributes["b"])',
      'set(attributes["c"], severity_text) where attributes["a"] == nil',
    ];
    expect(evaluateAfter(statements, '[attributes["a"], attributes["b"], attributes["c"]]')).toStrictEqual([
      null,
      "12",
      "12",
    ]);
  });
});

describe("every function", () => {
  it.each([...FUNCTIONS.values()].map((spec) => [spec.name, spec] as const))(
    "%s has an example that compiles",
    (_, spec) => {
      const contexts: readonly ContextName[] = spec.contexts ?? ["log", "span", "metric"];
      const compiles = contexts.some((context) => {
        try {
          if (/^[a-z]/.test(spec.example)) compileStatement(spec.example, context);
          else compileCondition(`${spec.example} == nil`, context);
          return true;
        } catch {
          return false;
        }
      });
      expect(compiles).toBe(true);
    },
  );

  it("is tested above or with the metrics", () => {
    const tested = JSON.stringify([CONVERTERS, MORE_CONVERTERS, EDITORS], (_, value) =>
      typeof value === "bigint" ? String(value) : value,
    );
    const elsewhere = [
      "UUID",
      "UUIDv7",
      "Now",
      ...[...FUNCTIONS.values()].filter((spec) => spec.contexts !== undefined).map((spec) => spec.name),
    ];
    expect([...FUNCTIONS.keys()].filter((name) => !tested.includes(`${name}(`) && !elsewhere.includes(name))).toEqual(
      [],
    );
  });

  it("that the Collector's users use most is there", () => {
    const editors =
      "set delete_key delete_matching_keys keep_keys keep_matching_keys limit truncate_all replace_pattern replace_all_patterns replace_match merge_maps flatten append convert_sum_to_gauge convert_gauge_to_sum copy_metric extract_count_metric extract_sum_metric aggregate_on_attributes";
    const converters =
      "Concat Split Substring Len Trim ToLowerCase ToUpperCase ConvertCase Int Double String Bool IsMatch IsString IsInt IsDouble IsBool IsMap IsList IsRootSpan ParseJSON ParseKeyValue ParseCSV ExtractPatterns ExtractGrokPatterns SHA256 SHA1 MD5 FNV UUID Now Time Unix UnixNano UnixMilli Duration TruncateTime Format Hex Base64Decode Log Values Keys ContainsValue HasPrefix HasSuffix TraceID SpanID URL UserAgent";
    expect(`${editors} ${converters}`.split(" ").filter((name) => !FUNCTIONS.has(name))).toEqual([]);
  });
});
