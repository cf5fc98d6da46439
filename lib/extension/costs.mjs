// `/costs`: shows tokens and cost of all sessions by day, week, month, model, project and session. The sums come from
// the library, as for `pi-sessions stats`.
import { safeLine } from "../shared/text.mjs";
import { GROUPINGS } from "../shared/usage-tables.mjs";
import { library } from "../takeover/library.mjs";
import { answer, refuse, withStatus } from "./answer.mjs";
import { summary, table } from "./costs-table.mjs";
import { CostsView } from "./costs-view.mjs";
import { goTo } from "./go-to.mjs";
import { customDir, onlyDir, projectOf } from "./search-options.mjs";

/** @typedef {typeof import("@earendil-works/pi-coding-agent")} Pi */
/** @typedef {import("@earendil-works/pi-coding-agent").ExtensionCommandContext} Context */
/** The width of the output, and the rows of a table, without a terminal. */
const [TEXT_COLUMNS, TEXT_ROWS] = [120, 50];

/**
 * @param {Pi} pi
 * @param {string} args `--repository`, and a grouping
 * @param {Context} ctx
 */
export async function costs(pi, args, ctx) {
	const isProject = /^--repository(?:\s|$)/.test(args.trim());
	const asked = args.trim().replace(/^--repository(?:\s+|$)/, "");
	const by = GROUPINGS.find((one) => one === asked);
	if (asked !== "" && by === undefined)
		return await refuse(
			ctx,
			`/costs does not know ${safeLine(asked)}. Usage: /costs [--repository] [${GROUPINGS.join("|")}]`,
		);
	const { SessionManager } = library(pi);
	const addUp = (/** @type {import("../../index.js").UsageOptions} */ more) =>
		SessionManager.usage({
			...(isProject ? projectOf(ctx) : {}),
			...customDir(ctx),
			...more,
			by: GROUPINGS,
			largest: 0,
		});
	const dir = isProject ? "this project" : onlyDir(ctx);
	if (ctx.mode === "tui") {
		/** @type {string | undefined} */
		const path = await ctx.ui.custom(
			(tui, theme, keybindings, done) => new CostsView({ tui, theme, keybindings, done, addUp, dir, by: by ?? "day" }),
			{
				overlay: true,
				overlayOptions: { width: "100%", maxHeight: "100%", anchor: "top-left" },
			},
		);
		if (path !== undefined) await goTo(pi, ctx, /** @type {any} */ ({ path }), "session");
		return;
	}
	const report = await withStatus(ctx, "adding up", (onProgress) => addUp({ onProgress }));
	const tables = (by ? [by] : GROUPINGS).flatMap((one) => {
		const { head, rows, total, note } = table(report, one, TEXT_COLUMNS, TEXT_ROWS);
		return ["", head, ...rows, total, ...note];
	});
	await answer(ctx, [...summary(report, dir, TEXT_COLUMNS), ...tables].join("\n"));
}
