import { defineVersioning } from "./versioning.js";

/** Brings events to their current versions, and telemetry to a version of its schema. */
export const versioning = defineVersioning({
  type: "versioning",
  summary: "Brings events to their current versions, and telemetry to a schema version.",
});
