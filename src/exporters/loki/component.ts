import type { Http1Answer } from "#net";
import { answerReader, HttpPoster, type RecordRequest, sendEach } from "#net/sending";
import { SliceTimer } from "#work";
import {
  type Batch,
  defineExporter,
  type Exporter,
  type ExporterContext,
  isRefusal,
  Refusal,
  type SendOptions,
} from "../../plugin.js";
import { type LokiConfig, lokiSchema } from "./config.js";
import { KnownStreams, TENANT_HEADER } from "./known-streams.js";
import { type Push, type PushSettings, pushesOf, refusalOfRecords } from "./push-requests.js";
import { StreamLabels } from "./stream-labels.js";

/** Pushes logs to Loki as lines with labels, in one request per tenant. */
export const lokiExporter = defineExporter<LokiConfig>({
  type: "loki",
  summary: "Pushes logs to Loki as lines, with the label hints of the Collector's removed exporter.",
  signals: ["logs"],
  schema: lokiSchema,
  create: (config, context) => new LokiExporter(config, context),
});

class LokiExporter implements Exporter {
  private readonly poster: HttpPoster;
  private readonly settings: PushSettings;
  /** The tenant of records whose hints name none. */
  private readonly tenant: string;
  private readonly readAnswer: (answer: Http1Answer) => void;

  constructor(config: LokiConfig, context: ExporterContext) {
    const { tenant, headers } = takeTenant(config);
    this.tenant = tenant;
    this.settings = settingsOf(config, () => context.clock.now());
    const own = { "Content-Type": "application/x-protobuf" };
    this.poster = new HttpPoster(config.endpoint, { ...config, headers }, own, context);
    const read = answerReader(context.clock);
    this.readAnswer = (answer) => classified(() => read(answer));
  }

  get metadataKeys(): readonly string[] {
    return this.poster.metadataKeys;
  }

  start(): Promise<void> {
    return this.poster.start();
  }

  /** Pushes that succeeded are not repeated when a later one is refused. */
  async send(batch: Batch, abort: AbortSignal, options?: SendOptions): Promise<undefined> {
    const timer = new SliceTimer();
    const { pushes, refused } = pushesOf(batch, this.settings);
    const requests: RecordRequest[] = pushes.map((push) => ({
      records: push.records,
      send: () => this.push(push, timer, abort, options),
    }));
    for (const [problem, records] of refused)
      requests.push({ records, send: () => Promise.reject(refusalOfRecords(problem)) });
    await sendEach(requests, batch.count);
  }

  async stop(): Promise<void> {
    this.poster.stop();
  }

  private async push(
    push: Push,
    timer: SliceTimer,
    abort: AbortSignal,
    options: SendOptions | undefined,
  ): Promise<void> {
    const tenant = push.tenant || this.tenant;
    if (timer.isOver) await timer.nextSlice();
    await this.poster.post(
      [await push.encode(timer)],
      abort,
      options,
      this.readAnswer,
      tenant === "" ? {} : { [TENANT_HEADER]: tenant },
    );
  }
}

/** Takes the tenant out of the config's headers: a hint wins over it, and a request has only one such header. */
function takeTenant({ headers, tenant_id: tenantId = "" }: LokiConfig) {
  let tenant = tenantId;
  const others: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers ?? {})) {
    if (name.toLowerCase() === TENANT_HEADER.toLowerCase()) tenant = value;
    else others[name] = value;
  }
  return { tenant, headers: others };
}

function settingsOf(config: LokiConfig, now: () => number): PushSettings {
  const { exporter = true, job = true, instance = true, level = true } = config.default_labels_enabled ?? {};
  const named = (labels: Readonly<Record<string, string | null>> | null | undefined) =>
    Object.entries(labels ?? {}).map(([key, label]) => [key, label || key] as const);
  const { attributes, resource } = config.labels ?? {};
  const labels = new StreamLabels({
    exporter,
    job,
    instance,
    level,
    attributes: named(attributes),
    resource: named(resource),
  });
  const format = config.format === "body" ? "raw" : (config.format ?? "json");
  return { streams: new KnownStreams({ labels, format }), now };
}

/** Loki's messages about entries whose time is too old or too new. */
const REFUSED_ENTRIES =
  /out of order|too far behind|too[- ]old|too[- ]new|(greater|older) than (max|reject)|reject_old_samples/i;

/** Late entries are well-formed; only the store no longer accepts their time. */
function classified(read: () => void): void {
  try {
    read();
  } catch (error) {
    if (!isRefusal(error) || error.kind !== "permanent" || !REFUSED_ENTRIES.test(error.message)) throw error;
    const { message, status = "" } = error;
    throw new Refusal("permanent", message, { status, category: "business" });
  }
}
