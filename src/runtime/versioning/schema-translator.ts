import type { Batch } from "../telemetry/batch.js";
import { type AnyRecordView, RecordViews } from "../telemetry/edit.js";
import type { Attributes } from "../telemetry/views/attributes.js";
import type { MetricView, ResourceView } from "../telemetry/views/owners.js";
import type { SpanView } from "../telemetry/views/span-view.js";
import { KEEP, type RecordVisitor, RecordWalk, type Verdict } from "../telemetry/walk.js";
import type { VersioningConfig } from "./config.js";
import { type Renaming, Translation } from "./translation.js";

export interface SchemaCounts {
  /** Records brought to the target, and those whose version the schema file cannot translate from. */
  readonly translated: number;
  readonly untranslated: number;
}

/** How a schema URL is dealt with. */
interface Way {
  /** Undefined when there is no way to the target. */
  readonly translation: Translation | undefined;
  readonly target: string;
}

const MOST_WAYS = 1000;

/**
 * Brings telemetry from the schema versions it names to the targets of the config, and names those. What names none, one
 * of another family, or one that the file does not have, stays as it is. Doing it twice is doing it once.
 */
export class SchemaTranslator {
  private readonly schemas: VersioningConfig["schemas"];
  /** By schema URL; undefined for those there is nothing to do for. */
  private readonly ways = new Map<string, Way | undefined>();

  constructor(schemas: VersioningConfig["schemas"]) {
    this.schemas = schemas;
  }

  translate(batch: Batch): { readonly batch: Batch; readonly counts: SchemaCounts } {
    const walk = new RecordWalk(batch);
    const visitor = new TranslatingVisitor(walk, (url) => this.wayFor(url));
    return { batch: walk.run(visitor), counts: visitor };
  }

  private wayFor(url: string): Way | undefined {
    if (url === "") return undefined;
    if (this.ways.has(url)) return this.ways.get(url);
    if (this.ways.size >= MOST_WAYS) this.ways.clear();
    const way = this.findWay(url);
    this.ways.set(url, way);
    return way;
  }

  private findWay(url: string): Way | undefined {
    const at = url.lastIndexOf("/");
    const schema = this.schemas.get(url.slice(0, at));
    const version = url.slice(at + 1);
    if (schema === undefined || version === schema.target) return undefined;
    const { family, target } = schema;
    const isKnown = family.versions.includes(version);
    return {
      translation: isKnown ? new Translation(family, version, target) : undefined,
      target: `${family.url}/${target}`,
    };
  }
}

const SUBJECTS = { logs: ["logs"], traces: ["spans", "span_events"], metrics: ["metrics"] } as const;

class TranslatingVisitor implements RecordVisitor, SchemaCounts {
  translated = 0;
  untranslated = 0;
  private readonly views: RecordViews;
  private readonly wayFor: (url: string) => Way | undefined;
  private readonly subjects: (typeof SUBJECTS)[keyof typeof SUBJECTS];
  private resource: ResourceView | undefined;
  /** What the present resource said before it was translated. */
  private resourceUrl = "";
  private scopeSerial = -1;
  private way: Way | undefined;
  private metric: MetricView | undefined;
  private metricRenaming: Renaming | undefined;

  constructor(walk: RecordWalk, wayFor: (url: string) => Way | undefined) {
    this.views = new RecordViews(walk);
    this.wayFor = wayFor;
    this.subjects = SUBJECTS[walk.batch.signal];
  }

  visit(walk: RecordWalk, start: number, end: number): Verdict {
    const isNewScope = walk.serials[1] !== this.scopeSerial;
    if (!isNewScope && this.way === undefined) return KEEP;
    const record = this.views.at(start, end);
    if (isNewScope) {
      this.scopeSerial = walk.serials[1]!;
      this.enterScope(record);
    }
    if (this.way?.translation === undefined) this.untranslated += this.way === undefined ? 0 : 1;
    else {
      this.translated++;
      this.translate(record, this.way.translation);
    }
    this.views.write(record);
    return KEEP;
  }

  private enterScope(record: AnyRecordView): void {
    if (record.resource !== this.resource) this.enterResource(record.resource);
    const { scope } = record;
    const own = scope.schemaUrl;
    const way = this.wayFor(own === "" ? this.resourceUrl : own);
    const translation = way?.translation?.canTranslate(this.subjects) ? way.translation : undefined;
    this.way = way && { ...way, translation };
    if (translation !== undefined && own !== "") scope.schemaUrl = way!.target;
  }

  private enterResource(resource: ResourceView): void {
    this.resource = resource;
    this.resourceUrl = resource.schemaUrl;
    const way = this.wayFor(this.resourceUrl);
    if (!way?.translation?.canTranslate(["resources", ...this.subjects])) return;
    renameKeys(resource.attributes, way.translation.of("resources"));
    resource.schemaUrl = way.target;
  }

  private translate(record: AnyRecordView, translation: Translation): void {
    switch (record.signal) {
      case "logs":
        return renameKeys(record.attributes, translation.of("logs"));
      case "metrics":
        return renameKeys(record.attributes, this.enterMetric(record.metric, translation));
      case "traces": {
        const name = translation.looksAtNames("spans") ? record.name : "";
        renameKeys(record.attributes, translation.of("spans", name, name));
        translateEvents(record, translation);
      }
    }
  }

  private enterMetric(metric: MetricView, translation: Translation): Renaming {
    if (metric !== this.metric || this.metricRenaming === undefined) {
      this.metric = metric;
      this.metricRenaming = translation.of("metrics", metric.name);
      if (this.metricRenaming.name !== metric.name) metric.name = this.metricRenaming.name;
    }
    return this.metricRenaming;
  }
}

function translateEvents(span: SpanView, translation: Translation): void {
  for (const event of span.events) {
    const renaming = translation.of("span_events", event.name, span.name);
    renameKeys(event.attributes, renaming);
    if (renaming.name !== event.name) event.name = renaming.name;
  }
}

/** An attribute whose new key is taken keeps its old one: nothing is lost. */
function renameKeys(attributes: Attributes, { attributes: renames }: Renaming): void {
  if (renames.size === 0) return;
  for (const key of attributes.keys()) {
    const to = renames.get(key);
    if (to !== undefined && !attributes.has(to)) attributes.rename(key, to);
  }
}
