import { ACCEPTED, type Outcome, type ReceiverFactory } from "#contract";
import { Refusal } from "#contract/errors";
import type { Batch } from "#otlp";
import { check } from "../eventually.js";
import { flushPromises } from "../fakes.js";
import { sampleIds } from "../samples.js";
import { type Cases, type ConformanceCase, suiteOf } from "./case.js";
import { type ClientAnswer, type ReceiverConformanceOptions, ReceiverHarness } from "./receiver-harness.js";

/** Cases that every receiver must pass, for each of its signals. */
export function receiverConformance(factory: ReceiverFactory, options: ReceiverConformanceOptions): ConformanceCase[] {
  const named = {
    ...LIFECYCLE_CASES,
    ...(options.send && ANSWER_CASES),
    ...(options.sendPart && PARTIAL_REQUEST_CASES),
  };
  const cases = (options.signals ?? factory.signals).flatMap((signal) =>
    Object.entries(named).map(([name, run]): [string, Cases[string]] => [
      `${name} (${signal})`,
      async (context) => {
        const harness = new ReceiverHarness(factory, signal, options, context);
        try {
          await run(harness);
        } finally {
          await harness.cleanUp();
        }
      },
    ]),
  );
  return suiteOf(Object.fromEntries(cases), options);
}

type ReceiverCase = (trial: ReceiverHarness) => Promise<void>;

const MANY = 30;

/** Cases that also apply to receivers that produce their data themselves. */
const LIFECYCLE_CASES: Readonly<Record<string, ReceiverCase>> = {
  async "waits for the answers to what it handed in when it is stopped"(trial) {
    const settle = new Map<Batch, (outcome: Outcome) => void>();
    trial.intake.answer = (batch) => new Promise((resolve) => settle.set(batch, resolve));
    const receiver = await trial.start();
    const [safe, refused] = trial.options.send === undefined ? [] : [trial.batch(), trial.batch()];
    const answers = [safe, refused].flatMap((batch) => (batch === undefined ? [] : [trial.send(batch)]));
    await trial.waitForBatches(Math.max(answers.length, 1));
    const stopping = receiver.stop();
    const isStopped = await Promise.race([stopping.then(() => true), flushPromises().then(() => false)]);
    const isRefused = (batch: Batch) => refused !== undefined && keyOf(batch) === keyOf(refused);
    for (const [batch, done] of settle) done(isRefused(batch) ? NOT_NOW : ACCEPTED);
    trial.intake.answer = () => ACCEPTED;
    check(!isStopped, "stop ended before what was handed in had been answered");
    const received = await Promise.all(answers);
    const isTrue = received.length === 0 || (received[0] === "accepted" && received[1] === "retry");
    check(
      isTrue,
      `during a stop clients were told "${received.join('" and "')}", and "accepted" and "retry" were true`,
    );
    await trial.withTimeout(stopping, "stop did not end");
    await trial.stop(receiver);
  },

  async "takes nothing more once it is stopped"(trial) {
    const receiver = await trial.start();
    if (trial.options.send === undefined) await trial.waitForBatches();
    await trial.stop(receiver);
    const before = trial.intake.batches.length;
    if (trial.options.send !== undefined) {
      const answer = await trial.send(trial.batch());
      check(answer === "retry" || answer === "unreachable", `it was stopped, and a client was told "${answer}"`);
    }
    await flushPromises();
    check(trial.intake.batches.length === before, "it was stopped and still handed something in");
  },

  async "can be stopped twice, without a start, and be started again at the same port"(trial) {
    await trial.stop(trial.make());
    const first = await trial.start();
    await trial.stop(first);
    await trial.stop(first);
    const before = trial.intake.batches.length;
    const second = await trial.startAgain();
    if (trial.options.send !== undefined) {
      const answer = await trial.send(trial.batch());
      check(answer === "accepted", `after a restart a client was told "${answer}"`);
    }
    await trial.waitForBatches(before + 1);
    await trial.stop(second);
  },
};

const ANSWER_CASES: Readonly<Record<string, ReceiverCase>> = {
  async "hands in everything once, with many clients at the same time"(trial) {
    const receiver = await trial.start();
    const sent = Array.from({ length: MANY }, () => trial.batch());
    const answers = await Promise.all(sent.map((batch) => trial.send(batch)));
    const other = answers.find((answer) => answer !== "accepted");
    check(other === undefined, `everything was accepted, and a client was told "${other}"`);
    trial.checkHandedIn(sent);
    await trial.stop(receiver);
  },

  async "tells each client what became of its records"(trial) {
    const receiver = await trial.start();
    const outcomes = new Map<string, Outcome>();
    trial.intake.answer = async (batch) => {
      await flushPromises();
      const outcome = trial.random.pick(OUTCOMES);
      outcomes.set(keyOf(batch), outcome);
      return outcome;
    };
    const sent = Array.from({ length: MANY }, () => trial.batch());
    const answers = await Promise.all(sent.map((batch) => trial.send(batch)));
    trial.checkHandedIn(sent);
    sent.forEach((batch, i) => {
      const expected = answerTo(outcomes.get(keyOf(batch)) ?? ACCEPTED);
      check(answers[i] === expected, `a client was told "${answers[i]}", and "${expected}" was true`);
    });
    await trial.stop(receiver);
  },

  async "asks clients to try again while the intake has no room"(trial) {
    const receiver = await trial.start();
    trial.intake.room = 0;
    const answer = await trial.send(trial.batch());
    check(answer === "retry", `the intake had no room, and a client was told "${answer}"`);
    trial.intake.room = Number.POSITIVE_INFINITY;
    check((await trial.send(trial.batch())) === "accepted", "the intake had room again, and a client was refused");
    await trial.stop(receiver);
  },
};

const PARTIAL_REQUEST_CASES: Readonly<Record<string, ReceiverCase>> = {
  async "refuses what it has read only in part when it is stopped, and waits for no silent client"(trial) {
    const receiver = await trial.start();
    const { answer } = await trial.options.sendPart!(trial.batch(), trial.port);
    const answered = answer.catch((): ClientAnswer => "unreachable");
    await flushPromises();
    await trial.stop(receiver);
    const received = await trial.withTimeout(
      answered,
      "a client that had sent a part got no answer, and its connection stayed",
    );
    check(
      received === "retry" || received === "unreachable",
      `a client had sent only a part, and was told "${received}"`,
    );
    check(trial.intake.batches.length === 0, "a part of a request was handed in");
  },
};

const NOT_NOW: Outcome = { ok: false, refusal: new Refusal("transient", "not now") };

const OUTCOMES: readonly Outcome[] = [
  ACCEPTED,
  NOT_NOW,
  { ok: false, refusal: new Refusal("throttled", "not so fast", { retryAfterMs: 1000 }) },
  { ok: false, refusal: new Refusal("permanent", "never", { category: "schema" }) },
];

function answerTo(outcome: Outcome): ClientAnswer {
  if (outcome.ok) return "accepted";
  return outcome.refusal.kind === "permanent" ? "rejected" : "retry";
}

/** Batches are compared by the ids inside, because their encoding may change. */
function keyOf(batch: Batch): string {
  return sampleIds(batch)[0] ?? "";
}
