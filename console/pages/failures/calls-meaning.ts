export const CALLS_MEANING =
  "Calls: how often the agent sent this entry to the backend, alone or together with others. Each request counts.";
export const ATTEMPTS_MEANING =
  "Attempts: the calls whose failure counts against this entry. A call that fails because the backend is down, or because of other data in the request, is no attempt.";
