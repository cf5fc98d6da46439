// Loaded by --import: redirects every import of pi's own session manager inside the pi package to another module. It
// counts redirected imports, so that a run without any is detected.
import { appendFileSync, realpathSync } from "node:fs";
import { registerHooks } from "node:module";
import { pathToFileURL } from "node:url";

const { PSN_SESSION_MODULE, PSN_PI_PACKAGE, PSN_HOOK_LOG } = process.env;
const packageUrl = `${pathToFileURL(realpathSync(PSN_PI_PACKAGE)).href}/`;
const own = `${packageUrl}dist/core/session-manager.js`;
const replacement = pathToFileURL(PSN_SESSION_MODULE).href;

registerHooks({
	resolve(specifier, context, nextResolve) {
		const resolved = nextResolve(specifier, context);
		if (resolved.url !== own) return resolved;
		if (PSN_HOOK_LOG) appendFileSync(PSN_HOOK_LOG, `${(context.parentURL ?? "").replace(packageUrl, "")}\n`);
		return { url: replacement, shortCircuit: true };
	},
	load(url, context, nextLoad) {
		// If the hook missed an import, the process would contain two managers.
		if (url === own) throw new Error("pi's own session manager was loaded in spite of the hook");
		return nextLoad(url, context);
	},
});
