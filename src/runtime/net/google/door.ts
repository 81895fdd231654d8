/** Requests to Google: tokens. */

export { GOOGLE_SCOPES, type GoogleToken, googleTokens } from "./google-tokens.js";
