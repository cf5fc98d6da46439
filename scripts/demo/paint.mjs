// Colours where there is a terminal that wants them, and text made fit for one line of it.
const coloured = process.stdout.isTTY && !process.env.NO_COLOR;
const style = (open, close) => (text) => (coloured ? `\x1b[${open}m${text}\x1b[${close}m` : text);

export const bold = style(1, 22);
export const dim = style(2, 22);
export const green = style(32, 39);
export const yellow = style(33, 39);
export const cyan = style(36, 39);

export const columns = () => process.stdout.columns ?? 110;
export const heading = (text) => console.log(`\n${bold(cyan(`── ${text} `.padEnd(Math.min(columns(), 100), "─")))}`);

/** One line without control characters: a session may hold escape sequences that a terminal would obey. */
export const oneLine = (text) => text.replace(/[\p{Cc}\u2028\u2029\s]+/gu, " ").trim();

export function clip(text, width) {
	const characters = [...text];
	return characters.length <= width ? text : `${characters.slice(0, Math.max(0, width - 1)).join("")}…`;
}
