/** Errors for people: the problems of a config, and places in the source. */

export { callerStack, ProblemsError, thrownTo } from "./problems-error.js";
export { firstPosition } from "./source-position.js";
