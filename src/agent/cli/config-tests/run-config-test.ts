import { AssertionError } from "node:assert";
import type { ComponentSpec, ResolvedConfig } from "#config/resolve";
import { type Intake, noMetrics, type Outcome, silentLogger } from "#contract";
import type { BuiltInExtensionFactory } from "#contract/built-in";
import { Agent } from "#host";
import type { Batch } from "#otlp";
import type { Signal } from "#otlp/signals";
import { masks } from "../../mask-batch.js";
import { expectRecords } from "../../testing/expect-records.js";
import { FakeClock, flushPromises } from "../../testing/fakes.js";
import type { PlainRecord } from "../../testing/plain-records.js";
import { advancingClock, deadLettersOf, queuesInMemory, type TestDeadLetter } from "../../testing/run-pipeline.js";
import type { ConfigTest, ExpectedRecords, TestInput } from "./test-file.js";

/**
 * Runs one test on a config and returns what differs from the expectations. Processors, connectors and queues run as
 * configured, with the queues in memory; the test stands in for receivers and exporters. The clock advances only by the
 * `wait` of an input.
 */
export async function runConfigTest(config: ResolvedConfig, test: ConfigTest): Promise<string[]> {
  const ends = new TestEnds();
  const clock = new FakeClock();
  const agent = new Agent(ends.replaceIn(config), { logger: silentLogger, metrics: noMetrics, clock }, masks);
  await agent.start();
  const failures: string[] = [];
  let dead: readonly TestDeadLetter[] = [];
  try {
    for (const input of test.inputs) {
      const intake = ends.intakeFor(input);
      failures.push(...outcomeFailures(await advancingClock(intake.accept(input.batch), clock), test));
      await clock.pass(input.waitMs, Math.max(STEP_MS, input.waitMs / MAX_STEPS));
    }
    await settle(clock);
    if (agent.admin !== undefined) dead = await deadLettersOf(agent.admin);
  } finally {
    await advancingClock(agent.stop(), clock);
  }
  for (const [id, expected] of Object.entries(test.expect.exporters)) {
    if (!config.exporters.has(id)) failures.push(`there is no exporter "${id}" in a pipeline of the config`);
    else failures.push(...recordFailures(`exporter ${id}`, ends.exported.get(id) ?? [], expected));
  }
  const { dead_letters } = test.expect;
  if (dead_letters !== undefined)
    failures.push(
      ...recordFailures(
        "dead letters",
        dead.flatMap(({ records }) => records),
        dead_letters,
      ),
    );
  return failures;
}

/** The clock advances in steps of at least this length. */
const STEP_MS = 50;
const MAX_STEPS = 1000;

/** Gives the queues time to send everything. No send fails in a test, so a second on the fake clock is enough. */
async function settle(clock: FakeClock): Promise<void> {
  await flushPromises();
  await clock.pass(1000, STEP_MS);
}

function outcomeFailures(outcome: Outcome, { expect }: ConfigTest): string[] {
  if (outcome.ok) return expect.outcome === "accepted" ? [] : ["expected it to be refused, and it was accepted"];
  return expect.outcome === "refused"
    ? []
    : [`expected it to be accepted, and it was refused: ${outcome.refusal.message}`];
}

function recordFailures(what: string, found: readonly (Batch | PlainRecord)[], expected: ExpectedRecords): string[] {
  try {
    if (typeof expected === "number") expectRecords(found).toHaveCount(expected);
    else
      expectRecords(found).toMatch(
        expected.map(withoutNulls) as Parameters<ReturnType<typeof expectRecords>["toMatch"]>[0],
      );
    return [];
  } catch (error) {
    if (!(error instanceof AssertionError)) throw error;
    return [`${what}: ${error.message}`];
  }
}

/** In the YAML of a test, null means that a field must be absent. */
function withoutNulls(record: object): object {
  return Object.fromEntries(
    Object.entries(record).map(([key, value]) => {
      if (key !== "attributes" && key !== "resource") return [key, value];
      return [
        key,
        Object.fromEntries(Object.entries(value as object).map(([name, each]) => [name, each ?? undefined])),
      ];
    }),
  );
}

/** Replaces a config's receivers and exporters by ones that the test controls. */
class TestEnds {
  /** Batches by exporter id. */
  readonly exported = new Map<string, Batch[]>();
  private readonly intakes = new Map<string, Readonly<Partial<Record<Signal, Intake>>>>();

  replaceIn(config: ResolvedConfig): ResolvedConfig {
    return {
      ...config,
      placeOf: (path) => config.placeOf(path),
      receivers: mapSpecs(config.receivers, (spec, id) => ({
        ...spec,
        factory: {
          ...spec.factory,
          create: (_config, { intakes }) => {
            this.intakes.set(id, intakes);
            return { start: async () => {}, stop: async () => {} };
          },
        },
      })),
      exporters: mapSpecs(config.exporters, (spec, id) => ({
        ...spec,
        factory: {
          ...spec.factory,
          create: () => ({
            send: async (batch) => {
              this.exported.set(id, [...(this.exported.get(id) ?? []), batch]);
              return undefined;
            },
          }),
        },
      })),
      extensions: onlyQueues(config.extensions),
    };
  }

  intakeFor({ receiver, batch: { signal } }: TestInput): Intake {
    const found =
      receiver === undefined
        ? [...this.intakes.values()].find((intakes) => intakes[signal] !== undefined)
        : this.intakes.get(receiver);
    const intake = found?.[signal];
    if (intake !== undefined) return intake;
    const where = receiver === undefined ? "a receiver" : `the receiver "${receiver}"`;
    throw new NoIntakeError(`no pipeline takes ${signal} from ${where}`);
  }
}

/** A test sends a signal that no receiver of the config takes. */
export class NoIntakeError extends Error {
  override readonly name = "NoIntakeError";
}

function mapSpecs<Spec>(specs: ReadonlyMap<string, Spec>, change: (spec: Spec, id: string) => Spec): Map<string, Spec> {
  return new Map([...specs].map(([id, spec]) => [id, change(spec, id)]));
}

/** The queues are the only extension that runs. Others would open ports and files. */
function onlyQueues(
  extensions: ResolvedConfig["extensions"],
): ReadonlyMap<string, ComponentSpec<BuiltInExtensionFactory>> {
  const factory = queuesInMemory();
  const queues = [...extensions].filter(([, spec]) => spec.factory.type === factory.type);
  return new Map(queues.map(([id, spec]) => [id, { ...spec, factory }]));
}
