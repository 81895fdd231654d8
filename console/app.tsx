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
import { Text } from "./parts/text.js";
import { linkTo, type Route, route } from "./route.js";
import { SignIn } from "./sign-in.js";
import { nextTheme, theme } from "./theme.js";
import { UserMenu } from "./user-menu.js";

const AGENT_EVERY_MS = 10_000;

interface Page {
  readonly name: string;
  readonly title: string;
  readonly show: ComponentType<{ route: Route }>;
  /** How many parts its address has at most behind the name. */
  readonly depth?: number;
}

const PAGES: readonly Page[] = [
  { name: "pipelines", title: "Pipelines", show: PipelinesPage },
  { name: "exporters", title: "Exporters", show: ExportersPage },
  { name: "failures", title: "Failures", show: FailuresPage, depth: 1 },
  { name: "replay", title: "Replay", show: ReplayPage, depth: 2 },
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
  const isSignedIn = wanted === undefined;
  const page = findPage(current);
  const main = useRef<HTMLElement>(null);
  useEffect(() => {
    document.title = `${page.title} · Sluice`;
  }, [page]);
  return (
    <>
      <button type="button" class="skip" onClick={() => main.current?.focus()}>
        Skip to the content
      </button>
      <Header page={page} isSignedIn={isSignedIn} />
      <ConnectionBanner />
      <main ref={main} tabIndex={-1}>
        {isSignedIn ? <page.show route={current} /> : <SignIn message={wanted} />}
      </main>
    </>
  );
}

function findPage({ page: wanted, rest }: Route): Page {
  const page = PAGES.find(({ name }) => name === wanted);
  const parts = rest.filter((part) => part !== "").length;
  return page === undefined || parts > (page.depth ?? 0) ? UNKNOWN : page;
}

const UNKNOWN: Page = { name: "", title: "Unknown page", show: UnknownPage };

/** An address that leads nowhere, such as an old or mistyped link. */
function UnknownPage({ route: { page, rest } }: { route: Route }) {
  return (
    <>
      <h1>Unknown page</h1>
      <p class="empty">
        The console has no page{" "}
        <code>
          <Text value={["", page, ...rest].join("/")} max={200} inline />
        </code>
        . Choose one above, or go to <a href={linkTo(PAGES[0]!.name)}>{PAGES[0]!.title}</a>.
      </p>
    </>
  );
}

function Header({ page, isSignedIn }: { page: Page; isSignedIn: boolean }) {
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
      {isSignedIn && <AgentName />}
      {isSignedIn && <UserMenu />}
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
