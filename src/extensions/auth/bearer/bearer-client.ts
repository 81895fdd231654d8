import type { AuthHeaders, ClientAuthenticator } from "../../../runtime/kit.js";

/** Shows the first of its tokens: servers take any of them, so that they can be changed one after the other. */
export class BearerClient implements ClientAuthenticator {
  readonly isConfidential = true;
  private readonly header: string;
  private readonly scheme: string;
  private headers: AuthHeaders = {};

  /** The header's name is in lower case. */
  constructor({ header, scheme }: { readonly header: string; readonly scheme: string }) {
    this.header = header;
    this.scheme = scheme;
  }

  use([token = ""]: readonly string[]): void {
    this.headers = { [this.header]: this.scheme === "" ? token : `${this.scheme} ${token}` };
  }

  authorize(): AuthHeaders {
    return this.headers;
  }
}
