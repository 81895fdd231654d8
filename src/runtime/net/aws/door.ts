/** Requests to AWS: keys, signatures, errors. */

export { renewedAwsKeys } from "./aws-credentials.js";
export { isErrorOfOldKeys, kindOfAwsError } from "./aws-errors.js";
export { assumeRoleSection, awsRoleKeys } from "./aws-role-keys.js";
export { type AwsCredentials, signRequest } from "./sign.js";
