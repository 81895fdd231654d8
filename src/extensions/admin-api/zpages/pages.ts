import type { BuiltInHost } from "#contract/built-in";
import type { GraphNode } from "#contract/operations";
import type { SimpleHttpResponse } from "#net";

/** The pages of an agent, at the Collector's paths. They show names and numbers, and nothing of records or configs. */
export function pageAt(path: string, host: BuiltInHost, now: number): SimpleHttpResponse | undefined {
  const page = PAGES[path.replace(/\/$/, "")];
  if (page === undefined) return undefined;
  const { title, body } = page(host, now);
  return {
    status: 200,
    type: "text/html; charset=utf-8",
    body: layout(title, body),
    headers: {
      "cache-control": "no-store",
      "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
      "x-content-type-options": "nosniff",
    },
  };
}

interface Page {
  readonly title: string;
  /** HTML. */
  readonly body: string;
}

const PAGES: Readonly<Record<string, (host: BuiltInHost, now: number) => Page>> = {
  "/debug": () => ({ title: "zPages", body: links() }),
  "/debug/servicez": servicePage,
  "/debug/pipelinez": pipelinesPage,
  "/debug/extensionz": extensionsPage,
  "/debug/tracez": tracesPage,
};

const LINKS = ["servicez", "pipelinez", "extensionz", "tracez"];

function links(): string {
  return `<p>${LINKS.map((name) => `<a href="/debug/${name}">/debug/${name}</a>`).join(" ")}</p>`;
}

function servicePage({ state, inspection }: BuiltInHost, now: number): Page {
  const { agent } = inspection ?? {};
  const started = agent?.startedAt;
  const rows = [
    ["State", state],
    ["Command", agent?.name ?? ""],
    ["Version", agent?.version ?? ""],
    ["Node.js", process.version],
    ["Platform", `${process.platform} ${process.arch}`],
    ["Started", started === undefined ? "" : new Date(started).toISOString()],
    ["Up for (s)", started === undefined ? "" : String(Math.floor((now - started) / 1000))],
    ["Pipelines", String(agent?.pipelines.length ?? 0)],
    ["Warnings about the config", String(agent?.warnings.length ?? 0)],
  ];
  return { title: "Service", body: table(["Name", "Value"], rows) };
}

function pipelinesPage({ inspection }: BuiltInHost): Page {
  const nodes = inspection?.graph.nodes ?? [];
  const rows = (inspection?.agent.pipelines ?? []).map((pipeline) => {
    const edges = inspection!.graph.edges.filter((edge) => edge.pipeline === pipeline);
    const [from, to] = [new Set(edges.map((edge) => edge.from)), new Set(edges.map((edge) => edge.to))];
    const namesOf = (isWanted: (node: GraphNode) => boolean) =>
      nodes
        .filter((node) => isWanted(node) && (from.has(node.id) || to.has(node.id)))
        .map(({ name }) => name)
        .join(", ");
    return [
      pipeline,
      pipeline.split("/")[0]!,
      namesOf(({ id, kind }) => kind !== "processor" && from.has(id)),
      namesOf(({ kind }) => kind === "processor"),
      namesOf(({ id, kind }) => kind !== "processor" && to.has(id)),
    ];
  });
  return { title: "Pipelines", body: table(["Pipeline", "Signal", "Receivers", "Processors", "Exporters"], rows) };
}

function extensionsPage({ inspection }: BuiltInHost): Page {
  const service = inspection?.config()?.["service"] as { readonly extensions?: unknown } | undefined;
  const named = Array.isArray(service?.extensions) ? service.extensions.map(String) : [];
  const note = "<p>The extensions health_check, admin and reliability run too unless they are switched off.</p>";
  return {
    title: "Extensions",
    body:
      table(
        ["Extension"],
        named.map((name) => [name]),
      ) + note,
  };
}

/** The agent makes no spans of its own work, so the page has the numbers that the Collector's spans would tell. */
function tracesPage({ inspection }: BuiltInHost): Page {
  const counts = inspection?.traffic().nodes;
  const rows = (inspection?.graph.nodes ?? []).map(({ id, kind, name, pipelines }) => {
    const { in: came = 0, out = 0, dropped = 0, refused = 0, failed = 0 } = counts?.get(id) ?? {};
    return [`${kind}/${name}`, pipelines.join(", "), ...[came, out, dropped, refused, failed].map(String)];
  });
  const note =
    "<p>This agent makes no spans of its own work. These are the numbers of records since its start; " +
    "<code>sluice tap</code> and the console show the records themselves.</p>";
  const head = ["Component", "Pipelines", "In", "Out", "Dropped", "Refused", "Failed"];
  return { title: "Traces", body: note + table(head, rows) };
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const row = (cells: readonly string[], tag: "th" | "td") =>
    `<tr>${cells.map((cell) => `<${tag}>${escaped(cell)}</${tag}>`).join("")}</tr>`;
  return `<table><thead>${row(head, "th")}</thead><tbody>${rows.map((cells) => row(cells, "td")).join("")}</tbody></table>`;
}

function layout(title: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>${escaped(title)}</title>
<style>body{font-family:sans-serif;margin:2em}table{border-collapse:collapse}td,th{border:1px solid #999;padding:.3em .6em;text-align:left}</style>
</head>
<body><h1>${escaped(title)}</h1>${links()}${body}</body>
</html>
`;
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (char) => ENTITIES[char]!);
}
