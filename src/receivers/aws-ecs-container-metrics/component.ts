import { connectionErrorMessage, openRequest, readAnswer } from "#net";
import {
  PointCollector,
  type PointResource,
  type ScrapeMoment,
  type ScrapingConfig,
  ScrapingReceiver,
} from "#receiving";
import { environmentVariable } from "#system";
import { fieldsOf, listOf, type ObjectFields, textOf } from "#text/json";
import { defineReceiver } from "../../plugin.js";
import { ECS_METRICS, type EcsContainerMetricsConfig, ecsContainerMetricsSchema } from "./config.js";
import { containerValues, type EcsValues, elapsedNanoseconds, taskValues } from "./container-stats.js";
import { containerResource, taskResource } from "./ecs-resource.js";

/** Metrics about a task of Amazon ECS and its containers, from the metadata endpoint that the agent sees in it. */
export const ecsContainerMetricsReceiver = defineReceiver<EcsContainerMetricsConfig>({
  type: "awsecscontainermetrics",
  summary: "Collects CPU, memory, disk and network metrics of the Amazon ECS task that the agent runs in.",
  signals: ["metrics"],
  workers: "one",
  schema: ecsContainerMetricsSchema,
  create: ({ collection_interval: interval }, context) => {
    const config = { collection_interval: interval, initial_delay: interval, timeout: TIMEOUT_MS };
    return new EcsContainerMetricsReceiver(config, context, { table: ECS_METRICS, transport: "http" });
  },
});

const ENDPOINT_VARIABLE = "ECS_CONTAINER_METADATA_URI_V4";
const MAX_ANSWER_BYTES = 4 * 1024 * 1024;
const TIMEOUT_MS = 30_000;
const SCHEMA_URL = "https://opentelemetry.io/schemas/1.42.0";

class EcsContainerMetricsReceiver extends ScrapingReceiver<ScrapingConfig, typeof ECS_METRICS> {
  protected override async collect({ abort }: ScrapeMoment): Promise<PointCollector[]> {
    const base = environmentVariable(ENDPOINT_VARIABLE) ?? "";
    if (!URL.canParse(base))
      throw new Error(`${ENDPOINT_VARIABLE} has no URL: the agent does not run in a task of Amazon ECS`);
    const [task, stats] = await Promise.all([getFields(`${base}/task`, abort), getFields(`${base}/task/stats`, abort)]);
    const shared = taskResource(task);
    const measured: EcsValues[] = [];
    const collectors = listOf(task["Containers"]).flatMap((each) => {
      const container = fieldsOf(each);
      const resource = { ...containerResource(container), ...shared };
      const own = fieldsOf(stats[textOf(container["DockerId"])]);
      if (textOf(own["id"]) === "") return this.stoppedContainer(container, resource);
      const values = containerValues(own, fieldsOf(container["Limits"]));
      measured.push(values);
      return [this.points("container.", values, resource)];
    });
    return [...collectors, this.points("ecs.task.", taskValues(measured, task), shared)];
  }

  private stoppedContainer(container: ObjectFields, resource: PointResource): PointCollector[] {
    const seconds = elapsedNanoseconds(container["StartedAt"], container["FinishedAt"]) / 1e9;
    const points = new PointCollector(0, resource);
    this.output.add(points, "container.duration", seconds);
    return [points];
  }

  private points(prefix: string, values: EcsValues, resource: PointResource): PointCollector {
    const points = new PointCollector(0, resource, { schemaUrl: SCHEMA_URL });
    for (const [name, value] of Object.entries(values)) this.output.add(points, `${prefix}${name}`, value);
    return points;
  }
}

async function getFields(url: string, signal: AbortSignal): Promise<ObjectFields> {
  try {
    const body = await get(new URL(url), signal);
    return fieldsOf(JSON.parse(body));
  } catch (error) {
    throw new Error(`${url}: ${connectionErrorMessage(error)}`, { cause: error });
  }
}

function get(url: URL, signal: AbortSignal): Promise<string> {
  return new Promise((resolve, reject) => {
    const request = openRequest({ url, headers: {}, tls: { rejectUnauthorized: true }, proxy: undefined, signal });
    request.on("error", reject);
    request.on("response", (response) => {
      readAnswer(response, MAX_ANSWER_BYTES).then((body) => {
        const { statusCode } = response;
        if (statusCode === 200) resolve(body.toString());
        else reject(new Error(`answered ${statusCode}`));
      }, reject);
    });
    request.end();
  });
}
