export { FakeClock } from "../../src/agent/testing/fakes.js";
