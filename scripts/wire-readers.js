/**
 * Generates the readers of several fields of one OTLP message: `npm run readers`, after a build. They are made from the
 * table of messages, so no reader has a tag number of its own, and written out, because a loop over literals is faster
 * than one that looks up its fields. A test compares the files with what this script makes.
 */
import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";

/**
 * @typedef {import("../src/runtime/otlp/bytes/messages.js").Message} Message
 * @typedef {import("../src/runtime/otlp/bytes/messages.js").Field} Field
 * @typedef {{ kind: "range" | "at" | "set" | "call" | "mark" | "push", name: string, convert: string }} Action
 * @typedef {Readonly<Record<string, Action>>} Actions What to do with each field, by its name in the table.
 * @typedef {object} Reader
 * @property {string} name of the class
 * @property {string} purpose
 * @property {Readonly<Record<string, readonly [message: string, actions: Actions]>>} methods by name
 * @property {number} [missing] position of a missing range; without it, a read leaves missing fields as they were
 * @typedef {object} ReaderFile
 * @property {string} path
 * @property {Readonly<Record<string, string>>} imports specifiers by the names of functions that convert values
 * @property {string} [wire] specifier of the functions that read bytes; without it their door
 * @property {readonly Reader[]} readers
 */

/** The start and end of the last value, in `<name>Start` and `<name>End`. */
const range = (/** @type {string} */ name) => action("range", name);
/** The position of the last value. */
const at = (/** @type {string} */ name) => action("at", name);
/** The last value, converted by a function of the bytes and the position. */
const set = (/** @type {string} */ name, /** @type {string} */ convert) => action("set", name, convert);
/** Calls a method for each value: with the bytes, the position of the tag, start and end; a number only has a start. */
const call = (/** @type {string} */ name) => action("call", name);
/** Whether there is a value. */
const mark = (/** @type {string} */ name) => action("mark", name);
/** All values of a repeated number, packed or not. */
const push = (/** @type {string} */ name, /** @type {string} */ convert) => action("push", name, convert);

/** @returns {Action} */
function action(/** @type {Action["kind"]} */ kind, /** @type {string} */ name, convert = "") {
  return { kind, name, convert };
}

const WIRE = "#otlp/bytes";
const POINT_TIMES = { startTimeUnixNano: set("startMs", "milliseconds"), timeUnixNano: set("timeMs", "milliseconds") };
const DISTRIBUTION = { ...POINT_TIMES, count: set("count", "unsigned64"), sum: call("setSum") };
const POINT_LISTS = { attributes: call("addAttribute"), exemplars: call("addExemplar") };
const NO_VALUE = { flags: set("hasNoValue", "hasNoRecordedValue") };

/** @type {readonly ReaderFile[]} */
export const READER_FILES = [
  {
    path: "src/runtime/metrics/points/point-fields.generated.ts",
    imports: numbersFrom("./wire-numbers.js"),
    readers: [
      {
        name: "PointFields",
        purpose: "Reads the fields of data points of every kind.",
        methods: {
          readNumber: [
            "NumberDataPoint",
            {
              ...POINT_TIMES,
              asDouble: set("value", "double"),
              asInt: set("value", "signed64"),
              ...POINT_LISTS,
              ...NO_VALUE,
            },
          ],
          readHistogram: [
            "HistogramDataPoint",
            {
              ...DISTRIBUTION,
              bucketCounts: push("counts", "unsigned64"),
              explicitBounds: push("bounds", "double"),
              ...POINT_LISTS,
              ...NO_VALUE,
            },
          ],
          readExponential: [
            "ExponentialHistogramDataPoint",
            {
              ...DISTRIBUTION,
              scale: set("scale", "signedVarint"),
              zeroCount: set("zeroCount", "unsigned64"),
              positive: call("readPositive"),
              negative: call("readNegative"),
              ...POINT_LISTS,
              ...NO_VALUE,
              zeroThreshold: set("zeroThreshold", "double"),
            },
          ],
          readSummary: [
            "SummaryDataPoint",
            { ...DISTRIBUTION, quantileValues: call("addQuantile"), attributes: call("addAttribute"), ...NO_VALUE },
          ],
        },
      },
      {
        name: "ExponentialBuckets",
        purpose: "One side of an exponential histogram.",
        methods: {
          read: ["Buckets", { offset: set("offset", "signedVarint"), bucketCounts: push("counts", "unsignedVarint") }],
        },
      },
      {
        name: "QuantileFields",
        purpose: "One quantile of a summary.",
        missing: 0,
        methods: {
          read: ["ValueAtQuantile", { quantile: set("quantile", "double"), value: set("value", "double") }],
        },
      },
    ],
  },
  {
    path: "src/connectors/spans/span.generated.ts",
    imports: {},
    readers: [
      {
        name: "SpanReader",
        purpose: "Reads the fields of a span that metrics and graphs are made of.",
        missing: 0,
        methods: {
          readFields: [
            "Span",
            {
              traceId: range("traceId"),
              spanId: range("spanId"),
              parentSpanId: range("parentId"),
              name: range("name"),
              kind: set("kind", "varint"),
              startTimeUnixNano: at("startTimeAt"),
              endTimeUnixNano: at("endTimeAt"),
              attributes: call("addAttribute"),
              events: call("addEvent"),
              status: call("setStatus"),
            },
          ],
        },
      },
    ],
  },
  {
    path: "src/runtime/otlp/views/record-fields.generated.ts",
    imports: {},
    wire: "../bytes/wire.js",
    readers: [
      {
        name: "LogFields",
        purpose: "Finds the fields of a log record, but for its attributes.",
        missing: 0,
        methods: {
          read: [
            "LogRecord",
            {
              timeUnixNano: at("timeAt"),
              severityNumber: set("severityNumber", "varint"),
              severityText: range("severity"),
              body: range("body"),
              droppedAttributesCount: set("droppedAttributes", "varint"),
              flags: set("flags", "fixed32"),
              traceId: range("trace"),
              spanId: range("span"),
              observedTimeUnixNano: at("observedAt"),
              eventName: range("name"),
            },
          ],
        },
      },
      {
        name: "SpanFields",
        purpose: "Finds the fields of a span, but for its attributes, and whether it has events and links.",
        missing: 0,
        methods: {
          read: [
            "Span",
            {
              traceId: range("trace"),
              spanId: range("span"),
              traceState: range("state"),
              parentSpanId: range("parent"),
              name: range("name"),
              kind: set("kind", "varint"),
              startTimeUnixNano: at("startAt"),
              endTimeUnixNano: at("endAt"),
              droppedAttributesCount: set("droppedAttributes", "varint"),
              events: mark("hasEvents"),
              droppedEventsCount: set("droppedEvents", "varint"),
              links: mark("hasLinks"),
              droppedLinksCount: set("droppedLinks", "varint"),
              status: range("status"),
              flags: set("flags", "fixed32"),
            },
          ],
        },
      },
      {
        name: "EventFields",
        purpose: "Finds the fields of a span event, but for its attributes.",
        missing: 0,
        methods: {
          read: [
            "Event",
            {
              timeUnixNano: at("timeAt"),
              name: range("name"),
              droppedAttributesCount: set("droppedAttributes", "varint"),
            },
          ],
        },
      },
      {
        name: "LinkFields",
        purpose: "Finds the fields of a span link, but for its attributes.",
        missing: 0,
        methods: {
          read: [
            "Link",
            {
              traceId: range("trace"),
              spanId: range("span"),
              traceState: range("state"),
              droppedAttributesCount: set("droppedAttributes", "varint"),
            },
          ],
        },
      },
      {
        name: "StatusFields",
        purpose: "Finds the fields of a span's status.",
        missing: 0,
        methods: { read: ["Status", { message: range("message"), code: set("code", "varint") }] },
      },
    ],
  },
  {
    path: "src/processors/sampling/record.generated.ts",
    imports: {},
    readers: [
      {
        name: "SampledFields",
        purpose: "Finds the fields of a log record or span that samplers ask for.",
        missing: -1,
        methods: {
          readLog: [
            "LogRecord",
            {
              severityNumber: set("severity", "varint"),
              attributes: call("addAttribute"),
              traceId: call("setTraceId"),
              eventName: range("name"),
            },
          ],
          readSpan: [
            "Span",
            {
              traceId: call("setTraceId"),
              traceState: call("setTraceState"),
              name: range("name"),
              attributes: call("addAttribute"),
              status: range("status"),
            },
          ],
        },
      },
      {
        name: "SpanIds",
        purpose: "Finds the ids of a span.",
        methods: {
          read: ["Span", { traceId: call("setTraceId"), spanId: call("setSpanId"), parentSpanId: call("setParentId") }],
        },
      },
    ],
  },
];

/** @param {string} specifier */
function numbersFrom(specifier) {
  const names = ["hasNoRecordedValue", "milliseconds", "signed64", "signedVarint", "unsigned64", "unsignedVarint"];
  return Object.fromEntries(names.map((name) => [name, specifier]));
}

const LENGTH_DELIMITED = 2;
/** The longest line that the formatter leaves as it is, with its end. */
const MAX_LINE = 121;
/** How many bytes a value takes, by the wire type of its tag. */
const FIXED_SIZES = new Map([
  [1, 8],
  [5, 4],
]);

/**
 * The text of a file of readers.
 *
 * @param {ReaderFile} file @param {Readonly<Record<string, Message>>} messages
 */
export function readerSource(file, messages) {
  const classes = file.readers.map((reader) => classSource(reader, messages)).join("\n\n");
  const used = (/** @type {string} */ name) =>
    new RegExp(`\\b${name}\\(|^ +p = ${name};|\\b${name}\\b[;)]`, "m").test(classes);
  const fromWire = ["after", "double", "fixed32", "skip", "varint"].filter(used);
  const converters = Object.keys(file.imports).filter(used);
  const others = [...new Set(Object.values(file.imports))].map((specifier) => {
    const names = converters.filter((name) => file.imports[name] === specifier);
    return importSource(names, specifier);
  });
  const imports = [importSource(fromWire, file.wire ?? WIRE), ...others].join("");
  return `// Generated by scripts/wire-readers.js from OTLP's table of messages. Do not edit.\n\n${imports}\n${classes}\n`;
}

/** @param {readonly string[]} names @param {string} specifier */
function importSource(names, specifier) {
  const line = `import { ${names.join(", ")} } from "${specifier}";\n`;
  if (line.length <= MAX_LINE) return line;
  return `import {\n${names.map((name) => `  ${name},\n`).join("")}} from "${specifier}";\n`;
}

/** @param {Reader} reader @param {Readonly<Record<string, Message>>} messages */
function classSource({ name, purpose, methods, missing }, messages) {
  const fields = Object.values(methods).flatMap(([message, actions]) => entriesOf(messages[message], actions));
  const called = unique(fields.filter(([, { kind }]) => kind === "call").map(([field, one]) => signature(field, one)));
  const parts = [
    unique(fields.flatMap(([, one]) => properties(one, missing ?? 0))).join("\n"),
    ...called.map((declaration) => `  protected abstract ${declaration};`),
    ...(missing === undefined ? [] : [clearSource(fields, missing)]),
    ...Object.entries(methods).map(([method, [message, actions]]) =>
      methodSource(method, entriesOf(messages[message], actions), called.length > 0, missing !== undefined),
    ),
  ].filter((part) => part !== "");
  const abstract = called.length > 0 ? "abstract " : "";
  return `/** ${purpose} */\nexport ${abstract}class ${name} {\n${parts.join("\n\n")}\n}`;
}

/** @param {readonly string[]} texts */
function unique(texts) {
  return [...new Set(texts)];
}

/** @returns {(readonly [Field, Action])[]} in the order of the table. */
function entriesOf(/** @type {Message | undefined} */ message, /** @type {Actions} */ actions) {
  if (message === undefined) throw new Error("a reader names a message that the table does not have");
  const unknown = Object.keys(actions).filter((name) => !message.fields.some((field) => field.name === name));
  if (unknown.length > 0) throw new Error(`${message.name} has no field ${unknown.join(", ")}`);
  return message.fields.flatMap((field) => {
    const wanted = actions[field.name];
    return wanted === undefined ? [] : [/** @type {const} */ ([field, wanted])];
  });
}

/** @returns {string[]} declarations */
function properties(/** @type {Action} */ { kind, name, convert }, /** @type {number} */ missing) {
  if (kind === "range") return [`  ${name}Start = ${missing};`, `  ${name}End = ${missing};`];
  if (kind === "at") return [`  ${name} = -1;`];
  if (kind === "set") return [`  ${name} = ${initial(convert)};`];
  if (kind === "mark") return [`  ${name} = false;`];
  return kind === "push" ? [`  readonly ${name}: number[] = [];`] : [];
}

/** @param {string} convert */
function initial(convert) {
  return convert.startsWith("has") ? "false" : "0";
}

function signature(/** @type {Field} */ field, /** @type {Action} */ { name }) {
  const position = isLengthDelimited(field) ? "at: number, start: number, end: number" : "start: number";
  return `${name}(b: Uint8Array, ${position}): void`;
}

/** @param {Field} field */
function isLengthDelimited({ tag }) {
  return (tag & 7) === LENGTH_DELIMITED;
}

function clearSource(/** @type {(readonly [Field, Action])[]} */ fields, /** @type {number} */ missing) {
  const lines = unique(
    fields.flatMap(([, one]) =>
      one.kind === "push" ? [] : properties(one, missing).map((line) => `  ${line.replace("  ", "  this.")}`),
    ),
  );
  return `  /** Forgets the values of the message read before. */\n  private clear(): void {\n${lines.join("\n")}\n  }`;
}

function methodSource(
  /** @type {string} */ method,
  /** @type {(readonly [Field, Action])[]} */ entries,
  /** @type {boolean} */ isInner,
  /** @type {boolean} */ clears,
) {
  const numbers = entries.flatMap(([field, one]) => (isLengthDelimited(field) ? [] : numberCase(field, one)));
  const bodies = entries.flatMap(([field, one]) => bodyCase(field, one));
  const needsAt = bodies.some((line) => line.includes("(b, at, "));
  const tagAt = needsAt ? "at" : "p - 1";
  return [
    `  ${isInner ? "protected " : ""}${method}(b: Uint8Array, p: number, end: number): void {`,
    ...(clears ? ["    this.clear();"] : []),
    "    while (p < end) {",
    ...(needsAt ? ["      const at = p;"] : []),
    "      let tag = b[p++]!;",
    "      if (tag > 127) {",
    `        tag = varint(b, ${tagAt});`,
    "        p = after;",
    "      }",
    ...(numbers.length > 0 ? ["      switch (tag) {", ...numbers, "      }"] : []),
    ...(bodies.length > 0 ? bodySource(bodies) : ["      p = skip(b, p, tag);"]),
    "    }",
    "  }",
  ].join("\n");
}

/** @param {readonly string[]} cases */
function bodySource(cases) {
  return [
    `      if ((tag & 7) !== ${LENGTH_DELIMITED}) {`,
    "        p = skip(b, p, tag);",
    "        continue;",
    "      }",
    "      let size = b[p++]!;",
    "      if (size > 127) {",
    "        size = varint(b, p - 1);",
    "        p = after;",
    "      }",
    "      const stop = p + size;",
    "      switch (tag) {",
    ...cases,
    "      }",
    "      p = stop;",
  ];
}

/** @returns {string[]} */
function numberCase(/** @type {Field} */ { tag, name: field }, /** @type {Action} */ { kind, name, convert }) {
  const size = FIXED_SIZES.get(tag & 7);
  const step = size === undefined ? "while (b[p++]! > 127);" : `p += ${size};`;
  const statement =
    kind === "at"
      ? `this.${name} = p;`
      : kind === "set"
        ? `this.${name} = ${convert}(b, p);`
        : kind === "push"
          ? `this.${name}.push(${convert}(b, p));`
          : kind === "mark"
            ? `this.${name} = true;`
            : `this.${name}(b, p);`;
  return [`        case ${tag}: // ${field}`, `          ${statement}`, `          ${step}`, "          continue;"];
}

/** @returns {string[]} */
function bodyCase(/** @type {Field} */ field, /** @type {Action} */ { kind, name, convert }) {
  if (!isLengthDelimited(field)) {
    if (kind !== "push") return [];
    const packed = ((field.tag >>> 3) << 3) | LENGTH_DELIMITED;
    const size = FIXED_SIZES.get(field.tag & 7);
    const head = `        case ${packed}: // ${field.name}, packed`;
    if (size !== undefined)
      return [
        head,
        `          for (; p < stop; p += ${size}) this.${name}.push(${convert}(b, p));`,
        "          break;",
      ];
    return [
      head,
      "          while (p < stop) {",
      `            this.${name}.push(${convert}(b, p));`,
      "            while (b[p++]! > 127);",
      "          }",
      "          break;",
    ];
  }
  const statements =
    kind === "range"
      ? [`this.${name}Start = p;`, `this.${name}End = stop;`]
      : kind === "mark"
        ? [`this.${name} = true;`]
        : [`this.${name}(b, at, p, stop);`];
  return [
    `        case ${field.tag}: // ${field.name}`,
    ...statements.map((statement) => `          ${statement}`),
    "          break;",
  ];
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const root = dirname(import.meta.dirname);
  const { MESSAGES } = await import("../dist/runtime/otlp/bytes/messages.js");
  for (const file of READER_FILES) writeFileSync(join(root, file.path), readerSource(file, MESSAGES));
}
