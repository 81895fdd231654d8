import { existsSync } from "node:fs";
import { chmod, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { batchToJson } from "../../../../src/plugin.js";
import { startApi } from "../../../extensions/admin-api/harness.js";
import { deadLetter } from "../../../runtime/queue/operate/controls.js";
import { bodies, logs } from "../../../support/telemetry/batches.js";
import { queueOf, sluice, temporary } from "./support.js";

async function running(body: string) {
  const api = await startApi();
  const { entry } = await deadLetter(api.a, { at: Date.now(), body });
  const at = ["--api", api.url.replace("/api/v1", "")];
  const text = async () => bodies(await api.a.store.payload((await api.a.store.find(entry.id))!.ref)).join();
  return {
    ...api,
    id: entry.id,
    text,
    dlq: (args: string[], options = {}) => sluice(["dlq", ...args, ...at], options),
  };
}

/** An editor that does this to its file. */
async function editor(script: string): Promise<Record<string, string>> {
  const file = join(await temporary(), "editor.sh");
  await writeFile(file, `#!/bin/sh\n${script}\n`);
  await chmod(file, 0o700);
  return { EDITOR: file };
}

describe("dlq edit", () => {
  it("opens the editor with the records, and takes what is saved", async () => {
    const { id, text, dlq, ask } = await running("wrong");
    const env = await editor("sed -i s/wrong/right/ $1");
    const { code, out } = await dlq(["edit", id, "--reason", "INC-17", "--by", "ann"], { env });
    expect([code, out]).toEqual([0, expect.stringContaining("revision 1")]);
    expect(out).toMatch(/^- .*"wrong"$/m);
    expect(out).toMatch(/^\+ .*"right"$/m);
    expect(await text()).toBe("right");
    const { body } = await ask("GET", "/audit");
    expect(body.records.map(({ action, reason }: Record<string, string>) => `${action} ${reason}`)).toEqual([
      "edit INC-17",
      "reveal INC-17",
    ]);
    const shown = await dlq(["show", id, "--revision", "0"]);
    expect(shown.out).toContain('"wrong"');
    expect(shown.out).toContain("1. edited by ann: INC-17");
    expect((await dlq(["show", id, "--revision", "5"])).code).toBe(1);
  });

  it("changes nothing when the editor was left with an error, and keeps what was written", async () => {
    const { id, text, dlq } = await running("wrong");
    const env = await editor("sed -i s/wrong/right/ $1; exit 1");
    const left = await dlq(["edit", id, "--reason", "x"], { env });
    expect([left.code, left.err]).toEqual([
      1,
      expect.stringMatching(/ended with 1\. Nothing was changed\.\nYour text/),
    ]);
    expect(await text()).toBe("wrong");
    const kept = /is in (\S+);/.exec(left.err)![1]!;
    expect(await readFile(kept, "utf8")).toContain('"right"');
    await rm(dirname(kept), { recursive: true });
  });

  it("changes nothing when nothing was changed, and keeps what was not taken", async () => {
    const { id, text, dlq } = await running("wrong");
    const same = await dlq(["edit", id, "--reason", "x"], { env: await editor("true") });
    expect([same.code, same.err]).toEqual([0, "Nothing was changed.\n"]);
    const bad = await dlq(["edit", id, "--reason", "x"], { env: await editor("sed -i s/logRecords/logs/ $1") });
    expect([bad.code, bad.err]).toEqual([1, expect.stringContaining("no member resourceLogs[0].scopeLogs[0].logs")]);
    const kept = /is in (\S+);/.exec(bad.err)![1]!;
    expect(await readFile(kept, "utf8")).toContain('"logs"');
    await rm(dirname(kept), { recursive: true });
    expect(await text()).toBe("wrong");
    expect((await dlq(["edit", id, "--reason", "x"], { env: await editor("exit 3") })).err).toContain("ended with 3");
    expect((await dlq(["edit", id, "--reason", "x"])).err).toContain("$EDITOR");
    expect((await dlq(["edit", id])).code).toBe(2);
  });

  it("opens the editor again for a person who made a mistake", async () => {
    const { id, text, dlq } = await running("wrong");
    const first = `touch "$0.once"; sed -i 's/"wrong"/Bad/' $1`;
    const env = await editor(`if [ -e "$0.once" ]; then sed -i 's/Bad/"right"/' $1; else ${first}; fi`);
    const { code, asked } = await dlq(["edit", id, "--reason", "x"], { env, answer: "y" });
    expect([code, asked]).toEqual([0, ["Edit it again? [Y/n] "]]);
    expect(await text()).toBe("right");
  });

  it("takes a file, unless somebody else was faster", async () => {
    const { id, text, dlq } = await running("wrong");
    const file = join(await temporary(), "mended.json");
    await writeFile(file, batchToJson(logs("right")));
    const args = ["edit", id, "--file", file, "--reason", "x", "--revision", "0"];
    const first = await dlq([...args, "--json"]);
    expect([first.code, JSON.parse(first.out).entry.edits[0].revision]).toEqual([0, 1]);
    const second = await dlq(args);
    expect([second.code, second.err]).toEqual([1, expect.stringContaining("look at it again")]);
    expect(await text()).toBe("right");
    expect(existsSync(file)).toBe(true);
  });

  it("works on a directory while no agent runs", async () => {
    const directory = await temporary();
    const [id] = await queueOf(directory, "otlp_http", [{}]);
    const env = await editor("sed -i 's/body 0/mended/' $1");
    const { code } = await sluice(["dlq", "edit", id!, "--reason", "x", "--dir", directory], { env });
    expect(code).toBe(0);
    expect((await sluice(["dlq", "show", id!, "--payload", "--dir", directory])).out).toContain("mended");
    expect((await sluice(["dlq", "show", id!, "--revision", "0", "--dir", directory])).out).toContain("body 0");
  });
});

describe("dlq replay", () => {
  it("shows what statements and processors would make of it, masked", async () => {
    const { id, text, dlq } = await running("alice@example.com \u001b[31m\u202e");
    const args = ["replay", id, "--transform", 'set(log.attributes["checked"], true)', "--diff"];
    const { code, out } = await dlq(args);
    expect(code).toBe(0);
    expect(out).toMatch(/^\+ .*"key": "checked"/m);
    expect(out).toContain("1 dead letter would be queued again");
    for (const text of ["alice@example", "\u001b", "\u202e"]) expect(out).not.toContain(text);
    expect((await dlq([...args, "--reveal", "--why", "check"])).out).not.toContain("masked");
    expect(JSON.parse((await dlq([...args, "--json"])).out).samples).toHaveLength(1);
    expect(await text()).toContain("alice");
  });

  it("changes, and says which statement is wrong", async () => {
    const { id, text, dlq } = await running("wrong");
    const bad = await dlq(["replay", id, "--transform", "sett(log.body, 1)"]);
    expect([bad.code, bad.err]).toEqual([2, expect.stringContaining("sett")]);
    const fails = await dlq(["replay", id, "--transform", 'set(log.attributes["n"], Int(log.body) + 1)']);
    expect([fails.code, fails.out]).toEqual([1, expect.stringContaining("a statement of --transform fails on them")]);
    expect((await dlq(["replay", id, "--transform", 'set(log.body, "right")'])).code).toBe(0);
    expect(await text()).toBe("right");
  });

  it("refuses to send to an unknown exporter, or when no agent runs", async () => {
    const { id, dlq } = await running("x");
    const unknown = await dlq(["replay", id, "--to", "nowhere"]);
    expect([unknown.code, unknown.err]).toEqual([1, expect.stringContaining('no exporter "nowhere"')]);
    const directory = await temporary();
    const [one] = await queueOf(directory, "otlp_http", [{}]);
    const offline = await sluice(["dlq", "replay", one!, "--to", "otlp_http", "--dir", directory]);
    expect([offline.code, offline.err]).toEqual([2, expect.stringContaining("start the agent first")]);
  });
});
