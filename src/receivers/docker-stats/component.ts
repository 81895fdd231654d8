import { loadClientTls } from "#net";
import { PointCollector, type ScrapeMoment, ScrapingReceiver } from "#receiving";
import { fieldsOf, listOf, type ObjectFields, textOf } from "#text/json";
import { defineReceiver, type ReceiverContext } from "../../plugin.js";
import { type DockerStatsConfig, dockerStatsSchema, imageFilter } from "./config.js";
import { addInspection, addStats } from "./container-points.js";
import { DockerApi, parseDockerEndpoint } from "./docker-api.js";
import { DOCKER_METRICS } from "./metrics.js";

/** Metrics about Docker's running containers. */
export const dockerStatsReceiver = defineReceiver<DockerStatsConfig>({
  type: "docker_stats",
  summary: "Collects CPU, memory, disk and network metrics of running containers from Docker.",
  signals: ["metrics"],
  workers: "one",
  schema: dockerStatsSchema,
  create: (config, context) => new DockerStatsReceiver(config, context),
});

/** Docker takes a second or two to answer for one container, so many containers are queried at once. */
const MAX_REQUESTS = 32;

class DockerStatsReceiver extends ScrapingReceiver<DockerStatsConfig, typeof DOCKER_METRICS> {
  private readonly isExcluded: (image: string) => boolean;
  private api: DockerApi | undefined;

  constructor(config: DockerStatsConfig, context: ReceiverContext) {
    super(config, context, { table: DOCKER_METRICS, transport: "docker", timeout: 0 });
    this.isExcluded = imageFilter(config.excluded_images);
  }

  protected override async open(): Promise<void> {
    const { endpoint, api_version: version, timeout: timeoutMs, tls } = this.config;
    const loaded = tls === undefined ? undefined : await loadClientTls(tls, ["tls"]);
    this.api = new DockerApi({ endpoint: parseDockerEndpoint(endpoint)!, version, timeoutMs, tls: loaded });
  }

  protected override async collect({ now, abort, failed }: ScrapeMoment): Promise<PointCollector[]> {
    const running = encodeURIComponent(JSON.stringify({ status: ["running"] }));
    const listed = listOf(await this.api!.get(`/containers/json?filters=${running}`, abort)).map((each) =>
      fieldsOf(each),
    );
    const ids = listed.filter(({ Image }) => !this.isExcluded(textOf(Image))).map(({ Id }) => textOf(Id));
    const collectors: PointCollector[] = [];
    const waiting = ids.values();
    const work = async () => {
      for (const id of waiting) {
        try {
          collectors.push(await this.container(id, now, abort));
        } catch (error) {
          failed(id.slice(0, 12), error);
        }
      }
    };
    await Promise.all(Array.from({ length: Math.min(MAX_REQUESTS, ids.length) }, work));
    return collectors;
  }

  private async container(id: string, now: number, abort: AbortSignal): Promise<PointCollector> {
    const path = `/containers/${encodeURIComponent(id)}`;
    const [stats, inspection] = await Promise.all([
      this.api!.get(`${path}/stats?stream=false`, abort).then(fieldsOf),
      this.api!.get(`${path}/json`, abort).then(fieldsOf),
    ]);
    const began = Date.parse(textOf(fieldsOf(inspection["State"])["StartedAt"]));
    const points = new PointCollector(Number.isNaN(began) ? now : began, this.resourceOf(id, inspection));
    addStats(stats, points, this.output);
    addInspection(inspection, points, this.output, now);
    return points;
  }

  private resourceOf(id: string, inspection: ObjectFields): Record<string, string> {
    const container = fieldsOf(inspection["Config"]);
    const known: Readonly<Record<keyof DockerStatsConfig["resource_attributes"], string>> = {
      "container.runtime": "docker",
      "container.hostname": textOf(container["Hostname"]),
      "container.id": id,
      "container.image.name": textOf(container["Image"]),
      "container.name": textOf(inspection["Name"]).replace(/^\//, ""),
      "container.image.id": textOf(inspection["Image"]),
      "container.command_line": listOf(container["Cmd"]).map(String).join(" "),
    };
    const wanted = Object.entries(known).filter(
      ([name]) => this.config.resource_attributes[name as keyof typeof known].enabled,
    );
    return { ...Object.fromEntries(wanted), ...this.labelsOf(container) };
  }

  private labelsOf(container: ObjectFields): Record<string, string> {
    const labels = fieldsOf(container["Labels"]);
    const variables = new Map(listOf(container["Env"]).map((text) => String(text).split(/=(.*)/s) as [string, string]));
    const found: Record<string, string> = {};
    for (const [name, attribute] of Object.entries(this.config.env_vars_to_metric_labels)) {
      const value = variables.get(name);
      if (value) found[attribute] = value;
    }
    for (const [name, attribute] of Object.entries(this.config.container_labels_to_metric_labels))
      if (textOf(labels[name]) !== "") found[attribute] = textOf(labels[name]);
    return found;
  }
}
