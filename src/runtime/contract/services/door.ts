/** The services that extensions offer to receivers: finding endpoints, electing a leader. */

export {
  ENDPOINT_TYPES,
  type EndpointObserver,
  type EndpointType,
  type ExtensionRole,
  type ExtensionServices,
  type LeaderElection,
  type ObservedEndpoint,
  type ReceiverTypes,
} from "./extension-services.js";
