/** The API of Kubernetes: lists that are kept up to date. */

export { KubernetesApi, SERVICE_ACCOUNT } from "./api-client.js";
export { digitsOf, fieldsOf, listOf, type ObjectFields, textOf, textsOf } from "./read-object.js";
export { type KubernetesObject, WatchedList } from "./watched-list.js";
