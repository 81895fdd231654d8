/** Archived records that are sent again: requests, jobs and their progress. */

export {
  REHYDRATED_ATTRIBUTE,
  REHYDRATED_FROM_ATTRIBUTE,
  type Rehydration,
  type RehydrationEstimate,
  type RehydrationProblem,
  type RehydrationRequest,
  type RehydrationStarter,
  type Rehydrations,
} from "./rehydration.js";
