/** Connections to MySQL and MariaDB. */

export { MysqlConnection, type MysqlSettings } from "./mysql-connection.js";
