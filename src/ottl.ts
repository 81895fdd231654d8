/**
 * For authors of components whose configs contain OTTL conditions or statements, as those of `filter` and `transform`
 * do. Experimental: its names may change with a minor version.
 */

// Compiling OTTL and running it on batches.

export {
  compileConditions,
  compileStatements,
  type OttlConditions,
  type OttlOptions,
  type OttlStatements,
  ottlText,
} from "./runtime/ottl/compile/plugin-ottl.js";

// Errors of compilation, and errors while processing a record.

export { isOttlError, isOttlSyntaxError, type OttlError, type OttlSyntaxError } from "./runtime/ottl/values/error.js";
