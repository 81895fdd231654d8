/** The API for operators. */

export { ADMIN_ROLES, type AdminRole, OPERATIONS, type OperationName } from "./operations.js";
