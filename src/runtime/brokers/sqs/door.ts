/** Amazon SQS: its client, queues and keys; bodies and headers of its messages. */

export {
  attributeBytes,
  DEAD_LETTER_SOURCE_ATTRIBUTE,
  fromAttributes,
  GROUP_ID_ATTRIBUTE,
  type SqsAttributes,
  toAttributes,
} from "./sqs-attributes.js";
export { BASE64_ATTRIBUTE, readSqsBody, writeSqsBody } from "./sqs-body.js";
export { SqsClient } from "./sqs-client.js";
export {
  checkSqsQueues,
  refusedSqsSignal,
  type SqsQueueAddress,
  sqsConnectionKeys,
  sqsQueueKeys,
  sqsQueueOf,
} from "./sqs-config.js";
export { SqsQueue } from "./sqs-queue.js";
