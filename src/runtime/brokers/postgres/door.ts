/** Connections to PostgreSQL, its names and its errors. */

export {
  columnName,
  POSTGRES_CLIENT,
  postgresConnectionKeys,
  quoteName,
  quoteTable,
  quoteText,
  tableName,
} from "./postgres-config.js";
export {
  ensureTable,
  FORGET_INTERVAL_MS,
  forgetHandledText,
  handledTableText,
  milliseconds,
  storableKey,
} from "./postgres-handled.js";
export {
  AS_TEXT,
  hangUp,
  loadPostgres,
  openPostgres,
  type PostgresClients,
  postgresErrorMessage,
  postgresOptions,
  renewPostgresTls,
  sqlState,
  type TextRow,
} from "./postgres-link.js";
