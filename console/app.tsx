import type { ComponentType } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { signInWanted } from "./api/session.js";
import { useValue } from "./api/value.js";
import { ConnectionBanner } from "./banner.js";
import { ExportersPage } from "./pages/exporters/exporters-page.js";
import { FailuresPage } from "./pages/failures/failures-page.js";
import { linkTo, type Route, route } from "./route.js";
import { SignIn } from "./sign-in.js";
import { nextTheme, theme } from "./theme.js";

interface Page {
  readonly name: string;
  readonly title: string;
  readonly show: ComponentType<{ route: Route }>;
}

const PAGES: readonly Page[] = [
  { name: "exporters", title: "Exporters", show: ExportersPage },
  { name: "failures", title: "Failures", show: FailuresPage },
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
      <ThemeSwitch />
    </header>
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
