/** The API of Kubernetes: lists that are kept up to date. */

export { KubernetesApi, KubernetesApiError, SERVICE_ACCOUNT } from "./api-client.js";
export { kubernetesApi, kubernetesApiKeys } from "./api-keys.js";
export { type KubernetesObject, type ListedPage, ObjectWatch } from "./object-watch.js";
export { quantityOf } from "./quantity.js";
export { WatchedList } from "./watched-list.js";
