/**
 * For authors of components whose configs have conditions or statements in OTTL, as `filter` and `transform` have.
 * Experimental: its names may change with a minor version.
 */

// Compiling texts, and what runs on batches.

export {
  compileConditions,
  compileStatements,
  type OttlConditions,
  type OttlOptions,
  type OttlStatements,
  ottlText,
} from "./runtime/ottl/compile/plugin-ottl.js";

// What does not compile, and what fails on a record.

export { isOttlError, isOttlSyntaxError, type OttlError, type OttlSyntaxError } from "./runtime/ottl/values/error.js";
