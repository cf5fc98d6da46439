// Session files with very many or very long parts.
export const header = (version: number): string =>
	`{"type":"session","version":${version},"id":"s","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/w"}\n`;
export const message = (content: string): string =>
	`{"type":"message","id":"a","parentId":null,"timestamp":"2025-01-01T00:00:00.000Z","message":{"role":"user","content":"${content}"}}\n`;

const lines = (count: number, line: (number: number) => string): string =>
	Array.from({ length: count }, (_, at) => line(at)).join("");
const id = (number: number): string => (number === 0 ? "root" : String(number).padStart(8, "0"));
const below = (number: number): string => (number === 0 ? "null" : `"${id(number - 1)}"`);
const time = (number: number): string => new Date(1_735_689_600_000 + 60_000 * number).toISOString();
const ROOT = `{"type":"message","id":"root","parentId":null,"message":{"role":"user","content":"secret"}}\n`;

export const manyEntries = (count: number): string =>
	`${header(3)}${lines(count, (at) => `{"type":"custom","id":"${id(at)}","parentId":${below(at)}}\n`)}half {\n`;
export const manyDamagedLines = (count: number): string => `${header(3)}${ROOT}${"{\n".repeat(count)}half {`;
export const manyFusedEntries = (count: number): string =>
	`${header(3)}${lines(count, (at) => `{"type":"custom","id":"${id(at)}","parentId":${below(at)}}`)}{\n`;
export const manyOldEntries = (count: number): string =>
	header(1) +
	lines(count, (at) => `{"type":"message","timestamp":"${time(at)}","message":{"role":"user","content":"secret"}}\n`);
export const deepTree = (count: number): string =>
	header(3) +
	lines(
		count,
		(at) =>
			`{"type":"message","id":"${id(at)}","parentId":${below(at)},"timestamp":"${time(at)}","message":{"role":"user","content":"secret"}}\n`,
	);
export const manyLabels = (count: number): string =>
	header(3) +
	ROOT +
	lines(
		count,
		(at) => `{"type":"label","id":"${id(at + 1)}","parentId":"${id(at)}","targetId":"${id(at)}","label":"l"}\n`,
	) +
	`{"type":"custom","id":"end","parentId":"${id(count)}"}\n`;
export const manyForks = (count: number): string =>
	header(3) +
	lines(count, (at) => {
		const usage = `"usage":{"input":1,"output":1,"cacheRead":0,"cacheWrite":0,"cost":{"total":1}}`;
		const call = `"provider":"p","model":"m${at}","timestamp":"odd ${at}",${usage}`;
		const role = at % 2 === 0 ? "assistant" : "user";
		const parent = at === 0 ? "null" : '"root"';
		return `{"type":"message","id":"${id(at)}","parentId":${parent},"timestamp":"${time(1_440 * at)}","message":{"role":"${role}","content":"secret",${call}}}\n`;
	});
export const manyOrphans = (count: number): string =>
	header(3) +
	ROOT +
	lines(count, (at) => `{"type":"custom","id":"${id(1 + (at >> 1))}","parentId":"gone${at}","data":${at}}\n`);
/** Ids that end in half a character; among the entries an orphan, a cycle and a repeated id. */
export const hugeIds = (length: number): string => {
	const long = `${"i".repeat(length)}\\ud800`;
	const entry = (own: string, parent: string) => `{"type":"custom","id":"${own}","parentId":"${parent}"}\n`;
	return `${header(3)}${ROOT}${entry(`1${long}`, "root")}${entry(`2${long}`, `1${long}`)}${entry("o", `gone${long}`)}${entry(`3${long}`, "c")}${entry("c", `3${long}`)}${entry(`1${long}`, `2${long}`)}`;
};
export const longWorkingDirectory = (length: number): string => header(3).replace("/w", "/a".repeat(length / 2)) + ROOT;
export const escapesInEveryField = (count: number): string => {
	const text = ".\\u0041".repeat(count);
	return [
		header(3).trimEnd(),
		ROOT.trimEnd(),
		`{"type":"session_info","id":"n","parentId":"root","name":"${text}"}`,
		`{"type":"label","id":"l","parentId":"n","targetId":"${text}","label":"${text}"}`,
		`{"type":"message","id":"${text}","parentId":"l","timestamp":"${text}","message":{"role":"user","content":[{"type":"text","text":"secret ${text}"}]}}`,
		`{"type":"custom","id":"x","parentId":"${text}","data":"${text}"}`,
		"half {",
	].join("\n");
};
/** A message of many blocks and of many keys. */
export const manyBlocks = (count: number): string => {
	const blocks = lines(count, (at) => `{"type":"text","text":"secret ${at}"},`);
	const keys = lines(count, (at) => `"key${at}":${at},`);
	return `${header(3)}{"type":"message","id":"root","parentId":null,"message":{"role":"user",${keys}"content":[${blocks}0]}}\n`;
};
/** A message of the model with this content. */
const answer = (content: string): string =>
	`${header(3)}{"type":"message","id":"root","parentId":null,"message":{"role":"assistant","content":[${content}]}}\n`;
export const manyCalls = (count: number): string =>
	answer(lines(count, (at) => `{"type":"toolCall","id":"${at}"},`).slice(0, -1));
/** A message with one block of many fields. Each field is long enough to be read by serde_json. */
export const manyLongFields = (count: number): string =>
	answer(`{"type":"text"${lines(count, (at) => `,"${at}":"${"x".repeat(200)}"`)}}`);
/** Results of tools that name a subagent's session. */
export const manyNamedSessions = (count: number): string => {
	const rest = `"usage":{"input":1,"cost":{"total":1}},"details":{"sessionId":"gone"}`;
	const result = (at: number) =>
		`{"type":"message","id":"${id(at)}","parentId":${below(at)},"message":{"role":"toolResult","toolName":"t",${rest}}}\n`;
	return header(3) + lines(count, result);
};
