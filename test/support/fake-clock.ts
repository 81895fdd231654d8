export { FakeClock } from "../../src/agent/testing/fake-clock.js";
