import { environmentVariable } from "#system";
import type { DetectedAttributes, Detector } from "./detector.js";

/**
 * Reads OTEL_RESOURCE_ATTRIBUTES, or the older OTEL_RESOURCE: `key=value` pairs separated by commas, with
 * percent-encoded values.
 */
export const detectEnv: Detector = async () => {
  const text = (environmentVariable("OTEL_RESOURCE_ATTRIBUTES") ?? environmentVariable("OTEL_RESOURCE") ?? "").trim();
  const pairs = text.split(",").filter((pair) => pair.trim() !== "");
  return Object.fromEntries(pairs.map(parsePair));
};

function parsePair(pair: string): [key: string, value: string] {
  const at = pair.indexOf("=");
  const key = pair.slice(0, Math.max(at, 0)).trim();
  if (key === "") throw new Error("OTEL_RESOURCE_ATTRIBUTES: expected key=value pairs with commas between them");
  try {
    return [
      key,
      decodeURIComponent(
        pair
          .slice(at + 1)
          .trim()
          .replaceAll("+", " "),
      ),
    ];
  } catch {
    throw new Error(`OTEL_RESOURCE_ATTRIBUTES: the value of ${key} is not percent-encoded as it should be`);
  }
}

/** Needs the dyno metadata that Heroku's labs feature runtime-dyno-metadata puts into the environment. */
export const detectHeroku: Detector = async () => {
  const appId = environmentVariable("HEROKU_APP_ID");
  return {
    "cloud.provider": appId === undefined ? undefined : "heroku",
    "heroku.app.id": appId,
    "heroku.release.commit": environmentVariable("HEROKU_SLUG_COMMIT"),
    "heroku.release.creation_timestamp": environmentVariable("HEROKU_RELEASE_CREATED_AT"),
    "service.instance.id": environmentVariable("HEROKU_DYNO_ID"),
    "service.name": environmentVariable("HEROKU_APP_NAME"),
    "service.version": environmentVariable("HEROKU_RELEASE_VERSION"),
  };
};

/** Detects an AWS Lambda function. */
export const detectLambda: Detector = async (): Promise<DetectedAttributes> => {
  const name = environmentVariable("AWS_LAMBDA_FUNCTION_NAME");
  if (name === undefined) return {};
  const group = environmentVariable("AWS_LAMBDA_LOG_GROUP_NAME");
  const stream = environmentVariable("AWS_LAMBDA_LOG_STREAM_NAME");
  return {
    "cloud.provider": "aws",
    "cloud.platform": "aws_lambda",
    "cloud.region": environmentVariable("AWS_REGION"),
    "faas.name": name,
    "faas.version": environmentVariable("AWS_LAMBDA_FUNCTION_VERSION"),
    "faas.instance": stream,
    "faas.max_memory": environmentVariable("AWS_LAMBDA_FUNCTION_MEMORY_SIZE"),
    "aws.log.group.names": group === undefined ? undefined : [group],
    "aws.log.stream.names": stream === undefined ? undefined : [stream],
  };
};
