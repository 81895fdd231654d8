import { render } from "preact";
import { takeTokenFromAddress } from "./api/session.js";
import { App } from "./app.js";
import { parseRoute, route } from "./route.js";
import { applyTheme } from "./theme.js";

takeTokenFromAddress();
route.set(parseRoute(location.hash));
applyTheme();
render(<App />, document.body);
