// The follower's sessions: those that pi has open, which are followed and claimed, and those that earlier processes left. At pi's end the
// rest of all of them is stored.
import { statSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname } from "node:path";

const require = createRequire(import.meta.url);
const { SessionSync } = require("../store/index.js");
const { inParallel } = require("../store/in-parallel.js");
const { projectIn, pushRules } = require("../store/settings.js");

/** How many sessions that earlier processes left are begun at the same time: each takes some megabytes. */
const SESSIONS_AT_ONCE = 4;
/** After how long without a word here others' lines are asked for more rarely. */
const IDLE_MS = 10 * 60_000;
/** A session that is open here is pulled up to this size, in bytes: pi waits while its file is written. A larger one waits for the next start. */
const LARGEST_OPEN = 32 << 20;

export class Sessions {
	isEnding = false;
	/** What pi has open. */
	#open = [];
	#begun = Date.now();
	/** What earlier processes left, what of it is to be stored before pi's end, and whether that is being done. */
	#fromEarlier = [];
	#unstoredFromEarlier = [];
	#isStoring = false;
	/** Promises of `SessionSync`s, by the directory of the files and the working directory. */
	#syncs = new Map();
	/** The files of sessions that were followed. */
	#followed = new Set();
	#context;

	constructor(context) {
		this.#context = context;
	}

	isOpen(path) {
		return this.#open.some(({ file }) => file === path);
	}

	/** Whether nothing was said here for a while. */
	isIdle() {
		return Date.now() - Math.max(this.#begun, ...this.#open.map(({ file }) => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0)) > IDLE_MS;
	}

	/** What may be pulled now: other processes of this machine pull what only they have open. */
	changeable(items) {
		const elsewhere = this.#context.pending.openElsewhere();
		const isSmall = ({ file, stored }) => Math.max(stored.bytes, statSync(file, { throwIfNoEntry: false })?.size ?? 0) <= LARGEST_OPEN;
		return items.filter((item) => (this.isOpen(item.file) ? isSmall(item) : !elsewhere.has(item.file)));
	}

	/** Follows what pi has open, and claims what the store has of it. What fails is tried again by the next call. */
	follow(open) {
		this.#open = open;
		if (this.#context.settings.push && !this.isEnding) for (const one of open) void this.#follow(one);
	}

	async #follow(one) {
		try {
			const sync = await this.#syncOf(one);
			if (sync.isPrivate(one) || this.isEnding) return;
			sync.follow(one);
			// Its directory may be gone when a later process is to find its project.
			if (!this.#followed.has(one.file)) this.#context.pending.add({ ...one, project: sync.project });
			this.#followed.add(one.file);
			if (sync.isNoted(one.session)) await this.#context.claims.renew(one.session);
		} catch (error) {
			this.#showFailure(error, one.session);
		}
	}

	/** One for each directory of files and working directory, though the next call may come before git has answered. */
	#syncOf({ file, cwd, project }) {
		const key = `${dirname(file)}\n${cwd}`;
		if (!this.#syncs.has(key)) {
			const making = this.#makeSync(dirname(file), cwd, project);
			making.catch(() => this.#syncs.delete(key));
			this.#syncs.set(key, making);
		}
		return this.#syncs.get(key);
	}

	async #makeSync(dir, cwd, project) {
		const place = { ...this.#placeIn(dir, cwd), store: this.#context.store, project: project ?? (await this.projectOf(cwd)) };
		return new SessionSync({ ...place, claim: this.#context.claims.beforeAppend, onError: (error, session) => this.#showFailure(error, session) });
	}

	#placeIn(dir, cwd) {
		const { address, notes } = this.#context;
		return { address, notes, dir, cwd, ...pushRules(dirname(notes)) };
	}

	/** The project of a directory: `set` in the environment or in the settings, or found there. */
	async projectOf(cwd, set = process.env.PI_SESSION_NATIVE_PROJECT) {
		const { store, notes, reports } = this.#context;
		const { project, problem } = await projectIn(cwd, store.host, dirname(notes), set);
		if (problem !== undefined) reports.show(problem);
		return project;
	}

	/** Whether a file has lines that are not known to be stored, by this machine's notes. */
	#isUnstored(one) {
		return new SessionSync({ ...this.#placeIn(dirname(one.file), one.cwd), project: "" }).lagOf(one) > 0;
	}

	/** Finds what earlier processes did not manage to store: of this project's sessions, and of whatever they had open. */
	async findLeft(place) {
		const sync = new SessionSync(place);
		const here = (await sync.local()).filter((local) => sync.isNoted(local.session) && sync.lagOf(local) > 0).map((local) => ({ ...local, cwd: place.cwd }));
		const others = this.#context.pending.left((one) => this.#isUnstored(one));
		// The name that is set here is not that of another directory.
		for (const one of others) one.project ??= await this.projectOf(one.cwd, "");
		this.#fromEarlier = [...others, ...here];
		this.#unstoredFromEarlier = this.#fromEarlier;
	}

	/** Stores what earlier processes left: each session once, though its last line may never get an end. What may work later stays. */
	async storeLeft() {
		if (this.#isStoring || !this.#context.settings.push) return;
		this.#isStoring = true;
		this.#unstoredFromEarlier = (await this.#store(this.#unstoredFromEarlier)).map(({ one }) => one);
		this.#isStoring = false;
	}

	/** pi's end: stores what is not stored yet, unless the store `isSilent`, and gives up the claims. */
	async storeRest({ isSilent, tries }) {
		this.isEnding = true;
		const { settings, pending, reports, list, claims } = this.#context;
		const byFile = new Map([...this.#fromEarlier, ...pending.own()].map((one) => [one.file, one]));
		const rest = settings.push ? [...byFile.values()].filter((one) => this.#isUnstored(one)) : [];
		reports.send({ unstored: rest.length });
		try {
			if (isSilent) return;
			// It is known soon whether the store answers.
			if (rest.length > 0 && tries === undefined) await list({ session: "0" });
			const [failed] = await this.#store(rest, tries);
			await claims.release();
			if (failed) throw failed.error;
		} finally {
			if (!rest.some((one) => this.#isUnstored(one))) pending.remove();
		}
	}

	/** Stores what the files of these sessions hold. Gives those that may be stored later, each with why it was not now. */
	async #store(sessions, tries = 1) {
		const failed = [];
		await inParallel(SESSIONS_AT_ONCE, sessions, async (one) => {
			const pushing = this.#syncOf(one).then((sync) => sync.push({ session: one.session, tries }));
			const error = await pushing.then(([result]) => result?.error, (error) => error);
			if (error?.retryable || error?.code === "claimed") failed.push({ one, error });
			else if (error) this.#showFailure(error, one.session);
		});
		return failed;
	}

	/** Errors that may pass are retried, and reported when pi ends if they did not; that another host has the claim is said where it is asked for. */
	#showFailure(error, session) {
		if (error.code !== "claimed" && !error.retryable) this.#context.reports.show(`session ${session} is not stored: ${error.message}`, `${session} ${error.code}`);
	}
}
