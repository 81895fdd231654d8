/** Requests to AWS: keys and signatures. */

export { renewedAwsKeys } from "./aws-credentials.js";
export { assumeRoleSection, awsRoleKeys } from "./aws-role-keys.js";
export { type AwsCredentials, signRequest } from "./sign.js";
