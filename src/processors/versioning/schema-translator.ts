import type { Batch } from "#otlp";
import { NameCache } from "#otlp/signals";
import {
  type AnyRecordView,
  type Attributes,
  KEEP,
  type MetricView,
  RecordViews,
  type RecordVisitor,
  RecordWalk,
  type ResourceView,
  type SpanView,
  type Verdict,
} from "#otlp/views";
import type { VersioningConfig } from "./config.js";
import { type Renaming, Translation } from "./translation.js";

export interface SchemaCounts {
  /** Number of records brought to the target, and of records whose version the schema file cannot translate. */
  readonly translated: number;
  readonly untranslated: number;
}

/** The translation for a schema URL. */
interface TranslationPlan {
  /** Undefined if no translation to the target exists. */
  readonly translation: Translation | undefined;
  readonly target: string;
}

/**
 * Translates telemetry from the schema versions it names to the targets of the config, and updates the schema URLs.
 * Telemetry stays unchanged if it names no schema, one of another family, or one that the file does not contain.
 * Applying it twice changes nothing more.
 */
export class SchemaTranslator {
  private readonly schemas: VersioningConfig["schemas"];
  /** Plans by schema URL; null for URLs that need no translation. */
  private readonly plans = new NameCache((url) => this.createPlan(url), { maxNames: 1000, maxLength: 1000 });

  constructor(schemas: VersioningConfig["schemas"]) {
    this.schemas = schemas;
  }

  translate(batch: Batch): { readonly batch: Batch; readonly counts: SchemaCounts } {
    const walk = new RecordWalk(batch);
    const visitor = new TranslatingVisitor(walk, (url) => this.planFor(url));
    return { batch: walk.run(visitor), counts: visitor };
  }

  private planFor(url: string): TranslationPlan | undefined {
    return url === "" ? undefined : (this.plans.get(url) ?? undefined);
  }

  private createPlan(url: string): TranslationPlan | null {
    const at = url.lastIndexOf("/");
    const schema = this.schemas.get(url.slice(0, at));
    const version = url.slice(at + 1);
    if (schema === undefined || version === schema.target) return null;
    const { family, target } = schema;
    const isKnown = family.versions.includes(version);
    return {
      translation: isKnown ? new Translation(family, version, target) : undefined,
      target: `${family.url}/${target}`,
    };
  }
}

const SIGNAL_SUBJECTS = { logs: ["logs"], traces: ["spans", "span_events"], metrics: ["metrics"] } as const;

class TranslatingVisitor implements RecordVisitor, SchemaCounts {
  translated = 0;
  untranslated = 0;
  private readonly views: RecordViews;
  private readonly planFor: (url: string) => TranslationPlan | undefined;
  private readonly subjects: (typeof SIGNAL_SUBJECTS)[keyof typeof SIGNAL_SUBJECTS];
  private resource: ResourceView | undefined;
  /** The schema URL of the present resource before the translation. */
  private resourceUrl = "";
  private scopeSerial = -1;
  private plan: TranslationPlan | undefined;
  private metric: MetricView | undefined;
  private metricRenaming: Renaming | undefined;

  constructor(walk: RecordWalk, planFor: (url: string) => TranslationPlan | undefined) {
    this.views = new RecordViews(walk);
    this.planFor = planFor;
    this.subjects = SIGNAL_SUBJECTS[walk.batch.signal];
  }

  visit(walk: RecordWalk, start: number, end: number): Verdict {
    const isNewScope = walk.serials[1] !== this.scopeSerial;
    if (!isNewScope && this.plan === undefined) return KEEP;
    const record = this.views.at(start, end);
    if (isNewScope) {
      this.scopeSerial = walk.serials[1]!;
      this.enterScope(record);
    }
    if (this.plan?.translation === undefined) this.untranslated += this.plan === undefined ? 0 : 1;
    else {
      this.translated++;
      this.translate(record, this.plan.translation);
    }
    this.views.write(record);
    return KEEP;
  }

  private enterScope(record: AnyRecordView): void {
    if (record.resource !== this.resource) this.enterResource(record.resource);
    const { scope } = record;
    const scopeUrl = scope.schemaUrl;
    const plan = this.planFor(scopeUrl === "" ? this.resourceUrl : scopeUrl);
    const translation = plan?.translation?.canTranslate(this.subjects) ? plan.translation : undefined;
    this.plan = plan && { ...plan, translation };
    if (translation !== undefined && scopeUrl !== "") scope.schemaUrl = plan!.target;
  }

  private enterResource(resource: ResourceView): void {
    this.resource = resource;
    this.resourceUrl = resource.schemaUrl;
    const plan = this.planFor(this.resourceUrl);
    if (!plan?.translation?.canTranslate(["resources", ...this.subjects])) return;
    renameKeys(resource.attributes, plan.translation.renamingOf("resources"));
    resource.schemaUrl = plan.target;
  }

  private translate(record: AnyRecordView, translation: Translation): void {
    switch (record.signal) {
      case "logs":
        return renameKeys(record.attributes, translation.renamingOf("logs"));
      case "metrics":
        return renameKeys(record.attributes, this.enterMetric(record.metric, translation));
      case "traces": {
        const name = translation.dependsOnNames("spans") ? record.name : "";
        renameKeys(record.attributes, translation.renamingOf("spans", name, name));
        translateEvents(record, translation);
      }
    }
  }

  private enterMetric(metric: MetricView, translation: Translation): Renaming {
    if (metric !== this.metric || this.metricRenaming === undefined) {
      this.metric = metric;
      this.metricRenaming = translation.renamingOf("metrics", metric.name);
      if (this.metricRenaming.name !== metric.name) metric.name = this.metricRenaming.name;
    }
    return this.metricRenaming;
  }
}

function translateEvents(span: SpanView, translation: Translation): void {
  for (const event of span.events) {
    const renaming = translation.renamingOf("span_events", event.name, span.name);
    renameKeys(event.attributes, renaming);
    if (renaming.name !== event.name) event.name = renaming.name;
  }
}

/** An attribute whose new key is taken keeps its old one, so nothing is lost. */
function renameKeys(attributes: Attributes, { attributes: renames }: Renaming): void {
  if (renames.size === 0) return;
  for (const key of attributes.keys()) {
    const to = renames.get(key);
    if (to !== undefined && !attributes.has(to)) attributes.rename(key, to);
  }
}
