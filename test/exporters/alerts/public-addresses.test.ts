import { expect, it } from "vitest";
import { isPublicHost, publicLookup } from "../../../src/exporters/alerts/public-addresses.js";

const look = (name: string, all: boolean) =>
  new Promise((resolve) => publicLookup(name, { all }, (error, address) => resolve(error?.message ?? address)));

it("rejects addresses outside the public internet, and names them", async () => {
  for (const all of [true, false])
    expect(await look("localhost", all)).toMatch(
      /^localhost resolves to (127\.0\.0\.1|::1), .*allow_private_addresses/,
    );
});

it("returns public addresses in the form that Node.js asks for", async () => {
  expect(await look("1.1.1.1", false)).toBe("1.1.1.1");
  expect(await look("1.1.1.1", true)).toEqual([{ address: "1.1.1.1", family: 4 }]);
});

it("knows which addresses are public, in every way they are written", () => {
  for (const host of ["8.8.8.8", "example.com", "[2606:4700::1111]", "172.32.0.1", "11.0.0.1"])
    expect([host, isPublicHost(host)]).toEqual([host, true]);
  for (const host of ["127.1.2.3", "[::ffff:10.0.0.1]", "fe80::1", "169.254.169.254", "localhost.", "255.255.255.255"])
    expect([host, isPublicHost(host)]).toEqual([host, false]);
});
