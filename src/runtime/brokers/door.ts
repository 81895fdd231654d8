/** Brokers: connections, messages, duplicates, and state that several agents share. */

export { NATS_CLIENTS, natsConnectionKeys, natsStreamKeys } from "./clients/nats-config.js";
export {
  ensureNatsStream,
  hasNatsCode,
  isNatsHeader,
  NatsLink,
  type NatsSession,
  natsErrorMessage,
  withoutCredentials,
} from "./clients/nats-link.js";
export { REDIS_CLIENT, redisConnectionKeys } from "./clients/redis-config.js";
export { connectRedis, isRedisError, isRedisReady, redisErrorMessage, redisProblem } from "./clients/redis-link.js";
export type { Dedup } from "./dedup/dedup.js";
export { createDedup, dedupSection } from "./dedup/dedup-config.js";
export type {
  KafkaAdmin,
  KafkaAssignment,
  KafkaClient,
  KafkaConsumer,
  KafkaConsumerOptions,
  KafkaFetchResponse,
  KafkaGroupMember,
  KafkaMemberShare,
  KafkaMessage,
  KafkaPartitionAnswer,
  KafkaProducer,
  KafkaProducerOptions,
  KafkaRecord,
  KafkaRecordSet,
  KafkaTopicMetadata,
} from "./kafka/client.js";
export {
  KAFKA_CLIENT,
  kafkaConnection,
  kafkaConnectionKeys,
  kafkaErrorIds,
  kafkaErrorMessage,
  renewKafkaTls,
} from "./kafka/connection.js";
export {
  DEAD_LETTER_HEADERS,
  formerSource,
  isDeadLetterHeader,
  rejectedHeaders,
  setbackOfHeaders,
} from "./messages/dead-letter-headers.js";
export {
  type HeaderValue,
  type IncomingMessage,
  MESSAGE_ENCODINGS,
  MESSAGE_HEADERS,
  type MessageEncoding,
  RECEIVE_COUNT_ATTRIBUTE,
  REDELIVERED_ATTRIBUTE,
} from "./messages/message.js";
export { MessageIntake, type MessageIntakeSettings } from "./messages/message-intake.js";
export { keyHeader, keyOfRecord } from "./messages/message-key.js";
export { rejectOnAbort, sendAll } from "./messages/reject-on-abort.js";
export { entryKeys, type WrittenMessage, writeMessages } from "./messages/write-messages.js";
export { OldestFirstMap } from "./oldest-first-map.js";
export {
  closeConnection,
  RABBITMQ_CLIENT,
  RabbitClient,
  ReturnedMessages,
  rabbitConnection,
} from "./rabbitmq/connection.js";
export {
  checkSharedState,
  SharedRedis,
  type SharedRedisConfig,
  sharedRedisOf,
  sharedStateKeys,
} from "./shared/shared-redis.js";
export {
  BrokerReceiver,
  type BrokerSource,
  maxLagKey,
  type OpenSources,
  type SourceServices,
} from "./sources/broker-receiver.js";
