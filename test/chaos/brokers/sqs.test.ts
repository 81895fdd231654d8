import { describe, it } from "vitest";
import { hasElasticMq, SqsTester, sqsEnvironment, startElasticMq } from "../../support/servers/sqs.js";
import { patience } from "../long-form.js";
import { type BrokerUnderTest, expectExactlyOnce, runBrokerCampaign } from "./broker-oracle.js";

describe.skipIf(!hasElasticMq)("what was acknowledged on its way through SQS", () => {
  it.each(["standard", "FIFO"])(
    "arrives once through a %s queue, though agent and server are killed again and again",
    {
      timeout: patience(240_000),
    },
    async (kind) => {
      expectExactlyOnce(`SQS, ${kind}`, await runBrokerCampaign(() => sqs(kind === "FIFO" ? "q.fifo" : "q")));
    },
  );
});

async function sqs(queue: string): Promise<BrokerUnderTest> {
  Object.assign(process.env, sqsEnvironment);
  const { server, endpoint, close } = await startElasticMq();
  await new SqsTester(endpoint).createQueue(queue);
  const receiver = { endpoint, queue_name: queue, visibility_timeout: "3s", wait_time: "1s" };
  // The server is slow: with a short queue, clients do not get far ahead of it.
  const sending_queue = { num_consumers: 4, queue_size: 100 };
  return { server, type: "aws_sqs", receiver, exporter: { endpoint, queue_name: queue, sending_queue }, close };
}
