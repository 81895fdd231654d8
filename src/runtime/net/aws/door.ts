/** Requests to AWS: keys, signatures, errors, a client for S3. */

export { renewedAwsKeys } from "./aws-credentials.js";
export { isErrorOfOldKeys, kindOfAwsError } from "./aws-errors.js";
export { assumeRoleSection, awsRoleKeys } from "./aws-keys.js";
export type { S3Address } from "./s3/s3-address.js";
export { S3Client } from "./s3/s3-client.js";
export { type AwsCredentials, signRequest } from "./sign.js";
