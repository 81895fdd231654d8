/** Authentication of incoming and outgoing requests. */

export { ADMIN_TOKEN, adminTokenHash, createAdminToken } from "./admin-token.js";
export {
  type AuthOutcome,
  answerOfAuthError,
  authenticate,
  authMetadata,
  rejectUnauthenticated,
  serverAuthenticator,
} from "./authenticate.js";
export {
  clientAuthenticator,
  isLocalHost,
  OutgoingRequest,
  sendAuthorized,
  withoutSecrets,
} from "./authorized-send.js";
export { CredentialGate, type VerifiedCredentials } from "./credential-gate.js";
export { type FetchedCredentials, RenewedCredentials } from "./renewed-credentials.js";
export { http2AuthRequest, httpAuthRequest } from "./server-auth-request.js";
