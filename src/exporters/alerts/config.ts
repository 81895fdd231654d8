import { z } from "zod";
import { isPublicHost } from "./public-addresses.js";

/** The config key that allows requests to private and local addresses. */
export const allowPrivateAddresses = {
  allow_private_addresses: z.boolean().default(false).meta({
    description:
      "Allow addresses of this machine and of private networks. Otherwise they are refused, even if a host name resolves to them.",
  }),
};

export const PRIVATE_ADDRESS = "expected a host of the public internet, or allow_private_addresses: true";

/** Whether the config permits requests to this host, as far as that is known before the DNS lookup. */
export function mayReach(
  url: URL,
  { allow_private_addresses }: { readonly allow_private_addresses: boolean },
): boolean {
  return allow_private_addresses || isPublicHost(url.hostname);
}
