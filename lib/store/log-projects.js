// Projects of a directory or a bucket. One that got another name has its sessions where they were: a mark in the folder of the new name
// says that they are listed there, too. Nothing is copied or deleted, so that nothing that somebody appends meanwhile can be lost.
const { checkProject } = require("./lines.js");
const { folderOf, movedIn, movedPath } = require("./log-names.js");

class Projects {
	/** @type {import("./log-objects").Objects} */
	#objects;

	/** @param {import("./log-objects").Objects} objects */
	constructor(objects) {
		this.#objects = objects;
	}

	/** What there is of a project, under the names that it had before, too. @param {string} project */
	async list(project) {
		const listed = await this.#objects.list(folderOf(project));
		const others = await Promise.all(movedIn(listed).map((folder) => this.#objects.list(folder)));
		return [...listed, ...others.flat()];
	}

	/** Whether a folder is one of a project's. @param {string} project @param {string} folder */
	async has(project, folder) {
		return folder === folderOf(project) || movedIn(await this.#objects.list(folderOf(project))).includes(folder);
	}

	/** @param {string} from @param {string} to */
	async move(from, to) {
		for (const project of [from, to]) checkProject(project);
		const folders = [folderOf(from), ...movedIn(await this.#objects.list(folderOf(from)))];
		for (const folder of folders) if (folder !== folderOf(to)) await this.#objects.create(movedPath(to, folder), Buffer.alloc(0));
	}
}

exports.Projects = Projects;
