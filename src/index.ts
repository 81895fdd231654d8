/** The door for embedders. */
export * from "./plugin.js";
