import { onTestFinished } from "vitest";
import { decodeTree, type ReceiverFactory } from "../../../src/plugin.js";
import { mysqlReceiver } from "../../../src/receivers/mysql/component.js";
import type { Logger } from "../../../src/runtime/contract/observability.js";
import { silentLogger } from "../../../src/runtime/contract/observability.js";
import { TestIntake } from "../../../src/testing.js";
import { startReceiver } from "../started-receiver.js";

export const quick = { collection_interval: "20ms", initial_delay: 0 };

export async function startMysqlReceiver(config: object, logger: Logger = silentLogger): Promise<TestIntake> {
  const intake = new TestIntake();
  const keys = { ...quick, ...config };
  const receiver = await startReceiver(mysqlReceiver as ReceiverFactory, keys, intake, logger, "metrics");
  onTestFinished(() => receiver.stop());
  return intake;
}

interface Resource {
  resource: { attributes: { key: string; value: { stringValue: string } }[] };
  scopeMetrics: { scope: { name: string }; metrics: Record<string, unknown>[] }[];
}

/** The resource of the last collection. */
export function resourceOf(intake: TestIntake): Resource | undefined {
  const batch = intake.batches.at(-1);
  return batch && (decodeTree(batch) as unknown as { resourceMetrics: Resource[] }).resourceMetrics[0];
}

export function resourceAttributes(intake: TestIntake): Record<string, string> {
  const attributes = resourceOf(intake)?.resource.attributes ?? [];
  return Object.fromEntries(attributes.map(({ key, value }) => [key, value.stringValue]));
}

/** The points of a metric in the last collection, as [value, attributes]. */
export function pointsOf(intake: TestIntake, name: string): [number, Record<string, string>][] {
  const metric = resourceOf(intake)?.scopeMetrics[0]?.metrics.find((each) => each["name"] === name);
  const data = (metric?.["sum"] ?? metric?.["gauge"]) as { dataPoints: Record<string, unknown>[] } | undefined;
  return (data?.dataPoints ?? []).map((point) => {
    const attributes = (point["attributes"] ?? []) as { key: string; value: { stringValue: string } }[];
    return [
      Number(point["asInt"] ?? point["asDouble"]),
      Object.fromEntries(attributes.map(({ key, value }) => [key, value.stringValue])),
    ];
  });
}

/** A logger that keeps the reasons. */
export function reasons(): { readonly logger: Logger; readonly seen: string[] } {
  const seen: string[] = [];
  const warn = (details: object) => void seen.push(String((details as { reason?: string }).reason));
  return { logger: { ...silentLogger, warn } as Logger, seen };
}
