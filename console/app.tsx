import type { ComponentType } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { connection } from "./api/connection.js";
import { useLoadOverview, useOverview } from "./api/overview.js";
import { signInWanted } from "./api/session.js";
import type { Agent, Overview } from "./api/shapes.js";
import { useLoad } from "./api/use-load.js";
import { useValue } from "./api/value.js";
import { ConnectionBanner } from "./banner.js";
import { AgentsPage } from "./pages/agents/agents-page.js";
import { AuditPage } from "./pages/audit/audit-page.js";
import { ConfigPage } from "./pages/config/config-page.js";
import { CostPage } from "./pages/cost/cost-page.js";
import { ExportersPage } from "./pages/exporters/exporters-page.js";
import { FailuresPage } from "./pages/failures/failures-page.js";
import { OverviewPage } from "./pages/overview/overview-page.js";
import { PipelinesPage } from "./pages/pipelines/pipelines-page.js";
import { PlaygroundPage } from "./pages/playground/playground-page.js";
import { RehearsalPage } from "./pages/rehearsal/rehearsal-page.js";
import { ReplayPage } from "./pages/replay/replay-page.js";
import { TailPage } from "./pages/tail/tail-page.js";
import type { Tone } from "./parts/bits.js";
import { countOf, durationText, rateText, toMs } from "./parts/format.js";
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
  { name: "overview", title: "Overview", show: OverviewPage },
  { name: "pipelines", title: "Pipelines", show: PipelinesPage },
  { name: "exporters", title: "Exporters", show: ExportersPage },
  { name: "failures", title: "Failures", show: FailuresPage, depth: 1 },
  { name: "replay", title: "Replay", show: ReplayPage, depth: 2 },
  { name: "cost", title: "Cost", show: CostPage },
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
  const { isLost } = useValue(connection);
  const counts = pageCounts(useOverview());
  return (
    <header class={`top ${isLost ? "lost" : ""}`}>
      <span class="brand">Sluice</span>
      <nav aria-label="Pages">
        {PAGES.map(({ name, title }) => (
          <PageLink key={name} name={name} title={title} isCurrent={name === page.name} count={counts[name]} />
        ))}
      </nav>
      {isSignedIn && <AgentName isLost={isLost} />}
      {isSignedIn && <UserMenu />}
      <ThemeSwitch />
    </header>
  );
}

/** A number beside the name of a page that calls for attention. */
interface PageCount {
  readonly count: number;
  readonly tone: Tone;
  readonly means: string;
}

/** By the name of the page; pages without such a number are left out. */
function pageCounts(overview: Overview | undefined): Readonly<Record<string, PageCount | undefined>> {
  if (overview === undefined) return {};
  const { alerts, exporters, receivers, deadLetters } = overview;
  const firing = alerts.filter(({ state }) => state === "firing");
  const unwell = exporters.unwell.length + receivers.unwell.length;
  const isDown = exporters.down + receivers.down > 0;
  const isCritical = firing.some(({ severity }) => severity === "critical");
  const all: Record<string, PageCount> = {
    overview: { count: firing.length, tone: isCritical ? "bad" : "warn", means: countOf(firing.length, "alert") },
    exporters: { count: unwell, tone: isDown ? "bad" : "warn", means: `${unwell} not up` },
    failures: { count: deadLetters.entries, tone: "warn", means: countOf(deadLetters.entries, "dead letter") },
  };
  return Object.fromEntries(Object.entries(all).filter(([, { count }]) => count > 0));
}

/** `7`, `999`, `1.2k`. */
function shortCount(count: number): string {
  return count < 1_000 ? String(count) : rateText(count);
}

function PageLink(props: { name: string; title: string; isCurrent: boolean; count: PageCount | undefined }) {
  const { name, title, isCurrent, count } = props;
  return (
    <a
      href={linkTo(name)}
      aria-current={isCurrent ? "page" : undefined}
      aria-label={count && `${title}, ${count.means}`}
    >
      {title}
      {count && <span class={`badge ${count.tone} count`} data-count={shortCount(count.count)} />}
    </a>
  );
}

function AgentName({ isLost }: { isLost: boolean }) {
  useLoadOverview();
  const { data } = useLoad<Agent>("/agent", AGENT_EVERY_MS);
  if (data === undefined) return null;
  if (isLost) return <span class="agent">{data.name} · cannot be reached</span>;
  const details = `${data.version} · ${data.state} · up ${durationText(Date.now() - toMs(data.startedAt))}`;
  return (
    <span class="agent" title={`${details} · generation ${data.generation}`}>
      {data.name} <span class="details">{details}</span>
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
