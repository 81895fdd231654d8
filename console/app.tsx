import type { ComponentType } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { signInWanted } from "./api/session.js";
import type { Agent } from "./api/shapes.js";
import { useLoad } from "./api/use-load.js";
import { useValue } from "./api/value.js";
import { ConnectionBanner } from "./banner.js";
import { AgentsPage } from "./pages/agents/agents-page.js";
import { AuditPage } from "./pages/audit/audit-page.js";
import { ConfigPage } from "./pages/config/config-page.js";
import { ExportersPage } from "./pages/exporters/exporters-page.js";
import { FailuresPage } from "./pages/failures/failures-page.js";
import { PipelinesPage } from "./pages/pipelines/pipelines-page.js";
import { PlaygroundPage } from "./pages/playground/playground-page.js";
import { RehearsalPage } from "./pages/rehearsal/rehearsal-page.js";
import { ReplayPage } from "./pages/replay/replay-page.js";
import { TailPage } from "./pages/tail/tail-page.js";
import { durationText, toMs } from "./parts/format.js";
import { linkTo, type Route, route } from "./route.js";
import { SignIn } from "./sign-in.js";
import { nextTheme, theme } from "./theme.js";

const AGENT_EVERY_MS = 10_000;

interface Page {
  readonly name: string;
  readonly title: string;
  readonly show: ComponentType<{ route: Route }>;
}

const PAGES: readonly Page[] = [
  { name: "pipelines", title: "Pipelines", show: PipelinesPage },
  { name: "exporters", title: "Exporters", show: ExportersPage },
  { name: "failures", title: "Failures", show: FailuresPage },
  { name: "replay", title: "Replay", show: ReplayPage },
  { name: "tail", title: "Live tail", show: TailPage },
  { name: "ottl", title: "OTTL", show: PlaygroundPage },
  { name: "config", title: "Config", show: ConfigPage },
  { name: "rehearsal", title: "Rehearsal", show: RehearsalPage },
  { name: "agents", title: "Agents", show: AgentsPage },
  { name: "audit", title: "Audit", show: AuditPage },
];

export function App() {
  const current = useValue(route);
  const wanted = useValue(signInWanted);
  const page = PAGES.find(({ name }) => name === current.page) ?? PAGES[0]!;
  const main = useRef<HTMLElement>(null);
  useEffect(() => {
    document.title = `${page.title} · Sluice`;
  }, [page]);
  return (
    <>
      <button type="button" class="skip" onClick={() => main.current?.focus()}>
        Skip to the content
      </button>
      <Header page={page} />
      <ConnectionBanner />
      <main ref={main} tabIndex={-1}>
        {wanted === undefined ? <page.show route={current} /> : <SignIn message={wanted} />}
      </main>
    </>
  );
}

function Header({ page }: { page: Page }) {
  return (
    <header class="top">
      <span class="brand">Sluice</span>
      <nav aria-label="Pages">
        {PAGES.map(({ name, title }) => (
          <a key={name} href={linkTo(name)} aria-current={name === page.name ? "page" : undefined}>
            {title}
          </a>
        ))}
      </nav>
      <AgentName />
      <ThemeSwitch />
    </header>
  );
}

function AgentName() {
  const { data } = useLoad<Agent>("/agent", AGENT_EVERY_MS);
  if (data === undefined) return null;
  return (
    <span class="agent" title={`generation ${data.generation}`}>
      {data.name} {data.version} · {data.state} · up {durationText(Date.now() - toMs(data.startedAt))}
    </span>
  );
}

function ThemeSwitch() {
  const current = useValue(theme);
  const signs = { auto: "◐", light: "☀", dark: "☾" };
  return (
    <button
      type="button"
      class="icon"
      title={`Colours: ${current}`}
      aria-label={`Colours: ${current}; change`}
      onClick={nextTheme}
    >
      {signs[current]}
    </button>
  );
}
