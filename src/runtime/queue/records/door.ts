/** The audit around an operators' interface. */

export { auditedAdmin } from "./audited-admin.js";
