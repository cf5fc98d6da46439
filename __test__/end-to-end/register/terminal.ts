// A program in its own terminal (tmux), which is controlled by keys and read as text. A step waits for the expected
// texts on the screen, and until the screen was equal four times in a row.
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { expect } from "vitest";
import { tool } from "../../support/tools.js";

/** The time after which a test stops waiting for a screen. Use a shorter one while you write a test. */
const DEADLINE_MS = Number(process.env.PSN_SCREEN_MS ?? 300_000);
/** The screen is at rest when it was equal this many times in a row. */
const LOOKS = 4;
const BETWEEN_LOOKS_MS = 60;

export interface Program {
	command: string;
	args: string[];
	cwd: string;
	env: Record<string, string>;
	/** The target of its stderr. The terminal shows the rest. */
	stderr: string;
}

function tmux(socket: string, args: string[]): string {
	return execFileSync(tool("tmux"), ["-u", "-S", socket, "-f", "/dev/null", ...args], {
		encoding: "utf8",
		stdio: ["ignore", "pipe", "pipe"],
		env: { PATH: process.env.PATH, LANG: "C.UTF-8", TERM: "xterm-256color", SHELL: "/bin/sh" },
	});
}

export class Terminal {
	readonly #socket: string;
	#ended = false;

	private constructor(socket: string) {
		this.#socket = socket;
	}

	/** Starts a program in a terminal of 100 by 46 characters. `home` is a folder for the terminal's socket. */
	static start(home: string, { command, args, cwd, env, stderr }: Program): Terminal {
		const terminal = new Terminal(join(home, "tmux"));
		const pairs = Object.entries({ ...env, TERM: "tmux-256color" }).map(([name, value]) => `${name}=${value}`);
		const redirected = ["sh", "-c", 'log=$1; shift; exec "$@" 2>"$log"', "sh", stderr, command, ...args];
		const window = ["new-session", "-d", "-x", "100", "-y", "46", "-c", cwd, "env", "-i", ...pairs, ...redirected];
		// The last screen of a program that has ended stays, so that a failure can be read.
		tmux(terminal.#socket, [
			"set-option",
			"-g",
			"remain-on-exit",
			"on",
			";",
			"set-option",
			"-g",
			"status",
			"off",
			";",
			...window,
		]);
		return terminal;
	}

	screen(): string {
		const text = tmux(this.#socket, ["capture-pane", "-p"]);
		return text
			.split("\n")
			.map((line) => line.trimEnd())
			.join("\n")
			.trimEnd();
	}

	/** The screen with its colours, as escape sequences. */
	colours(): string {
		return tmux(this.#socket, ["capture-pane", "-p", "-e"]);
	}

	/** Pastes a text, as a terminal does. */
	paste(text: string): void {
		tmux(this.#socket, ["set-buffer", "--", text, ";", "paste-buffer", "-p"]);
	}

	/** The program's process. */
	pid(): number {
		return Number(tmux(this.#socket, ["display-message", "-p", "#{pane_pid}"]));
	}

	/** Makes the terminal larger or smaller. */
	resize(columns: number, rows: number): void {
		tmux(this.#socket, ["resize-window", "-x", String(columns), "-y", String(rows)]);
	}

	/** Presses keys, which have tmux's names. */
	press(...keys: string[]): void {
		tmux(this.#socket, ["send-keys", ...keys]);
	}

	/** Types a text and waits until the screen shows it, because then the program reads input. */
	async type(text: string): Promise<void> {
		tmux(this.#socket, ["send-keys", "-l", text]);
		await this.shows(text);
	}

	/** Types a line and ends it with Enter. */
	async enter(line: string): Promise<void> {
		await this.type(line);
		this.press("Enter");
	}

	/** Waits until the screen shows all of these texts (and none of `not`) and is at rest. Returns the screen. */
	async shows(...wanted: (string | RegExp)[]): Promise<string> {
		const missing = (screen: string) =>
			wanted.filter((one) => (typeof one === "string" ? !screen.includes(one) : !one.test(screen)));
		const deadline = Date.now() + DEADLINE_MS;
		let last = "";
		for (let same = 0; ; await pause(BETWEEN_LOOKS_MS)) {
			const screen = this.screen();
			same = screen === last ? same + 1 : 0;
			last = screen;
			if (same >= LOOKS && missing(screen).length === 0) return screen;
			if (Date.now() > deadline)
				throw new Error(`the screen never showed ${missing(screen).join(" and ")}:\n${screen}`);
		}
	}

	/** Waits for the program's end. Returns its exit code. */
	async exit(): Promise<number> {
		for (const deadline = Date.now() + DEADLINE_MS; ; await pause(BETWEEN_LOOKS_MS)) {
			const [dead, status] = tmux(this.#socket, ["display-message", "-p", "#{pane_dead} #{pane_dead_status}"]).split(
				" ",
			);
			if (dead === "1") return Number(status);
			if (Date.now() > deadline) throw new Error(`the program never ended:\n${this.screen()}`);
		}
	}

	close(): void {
		if (this.#ended) return;
		this.#ended = true;
		tmux(this.#socket, ["kill-server"]);
	}
}

/** Two terminals that receive the same keys: pi as it is published, and pi with this package. */
export class Both {
	constructor(
		readonly own: Terminal,
		readonly ours: Terminal,
	) {}

	async do(act: (terminal: Terminal) => unknown): Promise<void> {
		await Promise.all([act(this.own), act(this.ours)]);
	}

	press(...keys: string[]): void {
		for (const terminal of [this.own, this.ours]) terminal.press(...keys);
	}

	/** Waits until both show all of these texts, and `read` returns the same for both screens. Returns that. */
	async agree(wanted: (string | RegExp)[], read: (screen: string, isOurs: boolean) => string): Promise<string> {
		for (const deadline = Date.now() + DEADLINE_MS; ; ) {
			const [own, ours] = await Promise.all([this.own.shows(...wanted), this.ours.shows(...wanted)]);
			const [expected, shown] = [read(own, false), read(ours, true)];
			if (shown === expected) return shown;
			if (Date.now() > deadline) expect(shown).toBe(expected);
		}
	}
}
