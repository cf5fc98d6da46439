// Colours for terminals, without a package, because the demo prints before packages are installed.
const coloured = process.stdout.isTTY && !process.env.NO_COLOR;
const style = (open, close) => (text) => (coloured ? `\x1b[${open}m${text}\x1b[${close}m` : text);

export const bold = style(1, 22);
export const dim = style(2, 22);
export const green = style(32, 39);
export const yellow = style(33, 39);
export const cyan = style(36, 39);

export const heading = (text) =>
	console.log(`\n${bold(cyan(`── ${text} `.padEnd(Math.min(process.stdout.columns ?? 100, 100), "─")))}`);
