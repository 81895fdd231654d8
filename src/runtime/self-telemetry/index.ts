export { createSelfTelemetry, type SelfTelemetry, type SelfTelemetryOptions } from "./self-telemetry.js";
