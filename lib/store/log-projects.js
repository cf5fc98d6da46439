// Projects of a directory or a bucket. One that got another name has its sessions where they were: a mark in the folder of the new name
// says that they are its own, too. Nothing is copied or deleted, so that nothing that somebody appends meanwhile can be lost.
const { checkProject } = require("./lines.js");
const { folderOf, movedIn, movedPath } = require("./log-names.js");

/** @typedef {import("./log-objects").Objects} Objects */

/** What there is of a project, under the names that it had before, too. @param {Objects} objects @param {string} project */
async function objectsOf(objects, project) {
	const own = await objects.list(folderOf(project));
	const others = await Promise.all(movedIn(own).map((folder) => objects.list(folder)));
	return [...own, ...others.flat()];
}

/** Whether a folder is one of a project's. @param {Objects} objects @param {string} project @param {string} folder */
const hasFolder = async (objects, project, folder) => folder === folderOf(project) || movedIn(await objects.list(folderOf(project))).includes(folder);

/** @param {Objects} objects @param {string} from @param {string} to */
async function moveProject(objects, from, to) {
	for (const project of [from, to]) checkProject(project);
	const folders = [folderOf(from), ...movedIn(await objects.list(folderOf(from)))];
	for (const folder of folders) if (folder !== folderOf(to)) await objects.create(movedPath(to, folder), Buffer.alloc(0));
}

exports.hasFolder = hasFolder;
exports.moveProject = moveProject;
exports.objectsOf = objectsOf;
