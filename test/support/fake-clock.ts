export { FakeClock } from "../../src/runtime/testing/fake-clock.js";
