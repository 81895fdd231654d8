import { dirname, join } from "node:path";
import { API, TypeFlags } from "typescript/unstable/sync";

const root = dirname(dirname(import.meta.dirname));
const ANSWERS = join(root, "src/runtime/contract/api/answers.ts");
/** A small project that has the file of the answers. */
const PROJECT = join(root, "console/tsconfig.json");

/** The names of schemas whose types have another name in the source. */
const NAMES = {
  AgentAnswer: "Agent",
  CutRehearsal: "InsightCutRehearsal",
  DeadLetterGroups: "Groups",
  DeadLetterStats: "Stats",
  GraphDescription: "Graph",
  InsightAnswer: "Insight",
  InsightAnswerRow: "InsightRow",
  NodeHistory: "History",
  OttlTrialResult: "OttlResult",
  ReplayJob: "Replay",
  SentBatch: "SampledBatch",
  ShownRehearsal: "Rehearsal",
};

/** Members that are numbers in the source, and whole numbers in the API. */
const WHOLE = new Set(
  `attempts batches bucketMs byCategory bytes byExporter byReason calls capacity clockBehindMs count deadLetters degraded deleted delivered
  done down entries evicted failedAgain faults generationNumber halfOpenBreakers imported inFlight items kept lag line looked matched
  matching maxBytes maxRecords moved number objects offset openBreakers others paused pending pid queueBytes queueEntries
  queued queuedBytes queuedEntries read readBatches ready recentCalls reconnects records rejected replayed replays requestItems restarts restored
  resumed revision rowCount sampled selected sent skipped stepMs total trend unavailableWorkers unreadPlaces up worker`.split(
    /\s+/,
  ),
);

/** Members whose numbers `withIsoTimes` writes as times; `at` of a sampled batch is sent as it is. */
const TIMES = /^(?:at|since|until|.*At)$/;

/**
 * Reads the types of the API's answers with the compiler. Returns the schemas of all operations by method and path, and
 * those of the types that have names. Comments become descriptions. `enums` are choices with names.
 */
export function answerSchemas(enums = {}) {
  const api = new API({ cwd: root });
  try {
    const project = api.updateSnapshot({ openProjects: [PROJECT] }).getProjects()[0];
    return new SchemaReader(project.checker, enums).read(project.program.getSourceFile(ANSWERS));
  } finally {
    api.close();
  }
}

class SchemaReader {
  schemas = {};
  /** The schema that is being read. */
  within = "";

  constructor(checker, enums) {
    this.checker = checker;
    this.enums = Object.entries(enums).map(([name, values]) => [name, values.toSorted().join()]);
  }

  read(file) {
    const { checker } = this;
    const names = checker.getExportsOfModule(checker.getSymbolAtLocation(file));
    const answers = checker.getDeclaredTypeOfSymbol(names.find(({ name }) => name === "Answers"));
    const operations = checker
      .getPropertiesOfType(answers)
      .map((member) => [member.name, this.schemaOf(checker.getTypeOfSymbol(member), member.name)]);
    return { operations: Object.fromEntries(operations), schemas: this.schemas };
  }

  schemaOf(type, member) {
    const { flags } = type;
    if (flags & TypeFlags.Union) return this.union(type, member);
    if (flags & TypeFlags.StringLiteral || flags & TypeFlags.NumberLiteral) return { const: type.value };
    if (flags & TypeFlags.StringLike) return TIMES.test(member) ? TIME : { type: "string" };
    if (flags & TypeFlags.NumberLike) return numberOf(member, this.within);
    if (flags & TypeFlags.BooleanLike) return { type: "boolean" };
    if (flags & TypeFlags.Null) return { type: "null" };
    if (flags & (TypeFlags.Unknown | TypeFlags.Any)) return {};
    if (this.checker.isTupleType(type)) return { type: "array" };
    if (this.checker.isArrayType(type)) return this.array(type, member);
    return this.object(type, member);
  }

  /** Undefined members are left out of JSON, so they do not count. */
  union(type, member) {
    const parts = type.getTypes().filter(({ flags }) => !(flags & TypeFlags.Undefined));
    const others = parts.filter(({ flags }) => !(flags & TypeFlags.Null));
    const isNullable = others.length < parts.length;
    const schema = this.alternatives(others, member);
    if (!isNullable) return schema;
    return typeof schema.type === "string" && schema.enum === undefined
      ? { ...schema, type: [schema.type, "null"] }
      : { oneOf: [{ type: "null" }, schema] };
  }

  alternatives(types, member) {
    if (types.every(({ flags }) => flags & TypeFlags.BooleanLike)) return { type: "boolean" };
    if (types.length === 1) return this.schemaOf(types[0], member);
    if (types.every(({ flags }) => flags & TypeFlags.StringLiteral))
      return this.choice(types.map(({ value }) => value));
    return { anyOf: types.map((each) => this.schemaOf(each, member)) };
  }

  choice(values) {
    const name = this.enums.find(([, known]) => known === values.toSorted().join())?.[0];
    return name === undefined ? { type: "string", enum: values.toSorted() } : { $ref: `#/components/schemas/${name}` };
  }

  array(type, member) {
    return { type: "array", items: this.schemaOf(this.checker.getTypeArguments(type)[0], member) };
  }

  /** Interfaces and named shapes have a schema of their own. */
  object(type, member) {
    const symbol = type.getAliasSymbol() ?? type.getSymbol();
    const isNamed = symbol !== undefined && !ANONYMOUS.has(symbol.name);
    if (!isNamed) return this.members(type, member);
    const name = NAMES[symbol.name] ?? symbol.name;
    if (this.schemas[name] === undefined) {
      // A type that refers to itself finds its place taken.
      this.schemas[name] = {};
      const { within } = this;
      this.within = name;
      this.schemas[name] = { ...described(this.checker, symbol), ...this.members(type, name) };
      this.within = within;
    }
    return { $ref: `#/components/schemas/${name}` };
  }

  members(type, within) {
    const { checker } = this;
    const [index] = checker.getIndexInfosOfType(type);
    if (index !== undefined) {
      const values = this.schemaOf(index.valueType, within);
      return { type: "object", additionalProperties: Object.keys(values).length === 0 ? true : values };
    }
    const members = checker.getPropertiesOfType(type);
    const required = members.filter((each) => !isOptional(checker, each)).map(({ name }) => name);
    const properties = members.map((each) => [each.name, this.member(each, within)]);
    return {
      type: "object",
      ...(required.length > 0 && { required }),
      properties: Object.fromEntries(properties),
    };
  }

  member(symbol, within) {
    const { checker } = this;
    const isRaw = within === "SampledBatch" && symbol.name === "at";
    const schema = isRaw ? { type: "integer" } : this.schemaOf(checker.getTypeOfSymbol(symbol), symbol.name);
    return { ...schema, ...described(checker, symbol) };
  }
}

/** Of these, insight gives estimates. */
const ESTIMATED = new Set(["bytes", "kept", "records"]);
const TIME = { type: "string", format: "date-time" };
const ANONYMOUS = new Set(["__type", "__object", "Readonly", "Partial", "Omit", "Pick", "Record"]);
const OPTIONAL = 1 << 24;

function numberOf(member, schema) {
  if (TIMES.test(member)) return TIME;
  const isEstimate = schema.startsWith("Insight") && ESTIMATED.has(member);
  const isWhole = !isEstimate && (WHOLE.has(member) || member.startsWith("skip_"));
  return { type: isWhole ? "integer" : "number" };
}

function isOptional(checker, symbol) {
  const type = checker.getTypeOfSymbol(symbol);
  const parts = type.getTypes?.() ?? [];
  return (symbol.flags & OPTIONAL) !== 0 || parts.some(({ flags }) => flags & TypeFlags.Undefined);
}

/** The comment of a declaration. The source has times as numbers, the API has them as ISO 8601. */
function described(checker, symbol) {
  const tags = checker.getJsDocTagsOfSymbol(symbol) ?? [];
  const texts = [checker.getDocumentationCommentOfSymbol(symbol), ...tags.map(({ text }) => textOf(text))];
  const text = texts.filter(Boolean).join(" ").replaceAll(/\s+/g, " ");
  const kept = text.replaceAll(/(?:^|(?<=[.;] ))[^.;]*milliseconds since the epoch[^.;]*(?:[.;] ?|$)/gi, "").trim();
  const said = kept.replaceAll("Undefined", "Absent").replaceAll("undefined", "absent");
  return said === "" ? {} : { description: said };
}

function textOf(parts) {
  return typeof parts === "string" ? parts : (parts ?? []).map(({ text }) => text).join("");
}
