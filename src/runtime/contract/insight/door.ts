/** The operators' interface to insight: what the traffic consists of. */

export {
  INSIGHT_ACTIONS,
  INSIGHT_BY_OF_SERVICE,
  INSIGHT_SORTS,
  type InsightAction,
  type InsightAnswer,
  type InsightAnswerRow,
  type InsightCut,
  type InsightCutRehearsal,
  type InsightFate,
  type InsightLabel,
  type InsightMeasured,
  type InsightSort,
} from "./insight-answers.js";
export {
  INSIGHT_BUCKETS,
  INSIGHT_BY,
  type InsightBy,
  type InsightPlace,
  type InsightPrice,
  type InsightReading,
  type InsightRow,
  type InsightSnapshot,
  type InsightSource,
} from "./insight-snapshot.js";
