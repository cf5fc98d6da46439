// Analyses pi's bundle, once for each version of pi: where the chunk with the session manager declares the names that pi's own
// module exports, and which modules import them from there. A bundle that is not exactly as expected is refused with a reason;
// then pi runs unbundled.
//
// The user waits for this, and a bundle has 10 MB, of which a parser reads 2 MB in a second. So it parses only the statements
// from the first of the names to the last. es-module-lexer, which is 20 times as fast, gives imports, exports and the depth of
// brackets in front of these statements. Any other place where one of the names could be declared or assigned is found in the
// text. The text does not say whether a place is in a string; where in doubt, the bundle is refused.
import { posix } from "node:path";
import { Parser, parse, tokenizer } from "acorn";
import { parse as lex } from "es-module-lexer/js";
import { BUNDLE, CONFIG, MANAGER } from "./package.mjs";
import { HANDLE, namesOf } from "./plan.mjs";

const OPTIONS = { ecmaVersion: "latest", sourceType: "module", allowHashBang: true };

const refuse = (why) => {
	throw new Error(why);
};

function understood(work, file) {
	try {
		return work();
	} catch (error) {
		return refuse(`${file} is not understood: ${error.message}`);
	}
}

/** The statements from an offset on, which is at the top level. The parser reads no further than the caller does. */
function* statementsFrom(text, at) {
	const parser = new Parser(OPTIONS, text, at);
	parser.nextToken();
	while (parser.pos < text.length) yield parser.parseStatement(null, true, Object.create(null));
}

/** Calls `visit` with every node of a tree. */
function walk(node, visit) {
	visit(node);
	for (const value of Object.values(node)) {
		if (Array.isArray(value)) {
			for (const one of value) if (typeof one?.type === "string") walk(one, visit);
		} else if (typeof value?.type === "string") walk(value, visit);
	}
}

/** The names of a class's own methods, except the constructor. */
function methodNames(node) {
	const named = node.body.body.filter(({ type, computed }) => type === "MethodDefinition" && !computed);
	return named.flatMap(({ kind, key }) => (kind === "constructor" || key.type !== "Identifier" ? [] : [key.name]));
}

/** The names that a statement declares, as `{ name, kind, value, start }`: `value` is the node that gives a name its value. */
function declaredBy(statement) {
	const node = statement.type.startsWith("Export") && statement.declaration ? statement.declaration : statement;
	if (node.type === "VariableDeclaration") {
		const plain = node.declarations.filter(({ id }) => id.type === "Identifier");
		return plain.map(({ id, init, start }) => ({ name: id.name, kind: "variable", value: init, start }));
	}
	const kind = { FunctionDeclaration: "function", ClassDeclaration: "class" }[node.type];
	return kind && node.id ? [{ name: node.id.name, kind, value: node, start: node.start }] : [];
}

/** The names of properties in a tree, sorted. A bundler renames variables, never properties. */
function propertyNames(node) {
	const names = new Set();
	walk(node, ({ type, computed, key, property }) => {
		const named = type === "MemberExpression" ? property : key;
		if (computed || !named || named.type === "Literal") return;
		names.add(named.type === "PrivateIdentifier" ? `#${named.name}` : named.name);
	});
	return [...names].sort().join();
}

/** The part of a value's source that bundling keeps, as text: equal for a function and the same function in a bundle. */
function outlineOf(node) {
	if (node.type === "Literal") return `literal ${node.raw}`;
	const kind = node.type.replace(/Declaration|Expression/, "").toLowerCase();
	return `${kind} ${node.params?.length ?? ""} ${propertyNames(node)}`;
}

/** How far around a name its neighbours are looked for. */
const NEAR = 32;
const DECLARES = /(?:^|[^\w$.])(?:(?:async\s+)?function\s*\*?|class|var|let|const)\s*$/;
const ASSIGNS = /^[\s)]*(?:(?:[-+%^/]|\*\*?|<<|>>>?|&&?|\|\|?|\?\?)?=(?![=>])|\+\+|--)|^\s*(?:of|in)\b[^;]*\)/;

/** Whether what stands before `text` is in a pattern that is assigned to, where `text` may follow a name in one. */
function endsPattern(text) {
	let depth = 0;
	let isOutside = false;
	try {
		for (const { type, value } of tokenizer(text, OPTIONS)) {
			if (isOutside) {
				if (value === "=" || value === "of" || value === "in") return true;
				if (![",", "]", "}"].includes(type.label)) return false;
			}
			isOutside = false;
			if (["{", "[", "(", "${"].includes(type.label)) depth++;
			else if (depth > 0) depth -= ["}", "]", ")"].includes(type.label) ? 1 : 0;
			else if (type.label === ")" || type.label === ";") return false;
			else isOutside = type.label === "}" || type.label === "]";
		}
		return false;
	} catch {
		return true;
	}
}

/** Where a text may bind or assign a name, as `{ at, declares }`. */
function bindings(text, name) {
	const found = [];
	for (let at = text.indexOf(name); at >= 0; at = text.indexOf(name, at + name.length)) {
		const end = at + name.length;
		const before = text.slice(Math.max(0, at - NEAR), at);
		const after = text.slice(end, end + NEAR);
		if (/[\w$#]$|(?:^|[^.])\.\s*$/.test(before) || /^[\w$]/.test(after)) continue;
		const declares = DECLARES.test(before);
		const mayBeInPattern = /[[{,:(.]\s*$/.test(before) && /^[\s)]*[\]},=]/.test(after);
		if (declares || ASSIGNS.test(after) || /(?:\+\+|--)\s*$/.test(before) || (mayBeInPattern && endsPattern(text.slice(end))))
			found.push({ at, declares });
	}
	return found;
}

/** Whether brackets are closed in a text, which begins between two tokens. */
function isBalanced(text) {
	try {
		lex(text);
		return true;
	} catch {
		return false;
	}
}

/** The longest declaration that begins before one of the names. */
const LARGEST_BEFORE = 1 << 16;
const STATEMENT = /(?<=^|[;}\n]|\*\/)[ \t]*(?=(?:export\s+)?(?:(?:async\s+)?function|class|var|let|const)\b)/g;

/** The offset of the declaration that an offset is in, or undefined. */
function declarationAround(text, at) {
	const from = Math.max(0, at - LARGEST_BEFORE);
	const starts = [...text.slice(from, at).matchAll(STATEMENT)].map(({ index, 0: space }) => from + index + space.length);
	return starts.findLast((one) => isBalanced(text.slice(one, at).replace(/^export\s/, "")));
}

/** An export that is put in front of a statement: es-module-lexer finds it only at the top level. */
const MARK = "__topLevel";

/** The file of the bundle that a specifier in `file` leads to, if it is a relative one. */
const target = (specifier, file) =>
	/^\.\.?\//.test(specifier) ? posix.join(posix.dirname(file), specifier) : undefined;

/** What an import statement binds, as pairs of the imported name (`*` for all) and the local one. */
function importedBy(statement) {
	const [node] = statementsFrom(statement, 0);
	if (node.type !== "ImportDeclaration") return [];
	return node.specifiers.map(({ type, imported, local }) => [
		type === "ImportSpecifier" ? (imported.name ?? imported.value) : "*",
		local.name,
	]);
}

class Analysis {
	#read;
	#files;
	#modules = new Map();
	#originals = new Map();

	/**
	 * `files` are the bundle's modules, `read` gives a file's text; files are named by their path in the package.
	 */
	constructor(files, read) {
		this.#files = files;
		this.#read = read;
	}

	plan() {
		const { names, settings } = namesOf(this.#read);
		if (!names.includes("SessionManager")) refuse(`${MANAGER} exports no SessionManager`);
		if (!settings.includes("getAgentDir")) refuse(`${CONFIG} exports no getAgentDir`);
		const exported = this.#module(MANAGER).exports.map(({ name }) => name);
		if (exported.length !== names.length || names.some((name) => !exported.includes(name)))
			refuse(`${MANAGER} does not write each export as a declaration on a line of its own`);

		const sites = names.map((name) => this.#site(name));
		const [{ file: chunk }] = sites;
		for (const { name, file } of sites)
			if (file !== chunk) refuse(`${names[0]} is in ${chunk}, and ${name} in ${file}`);
		const text = this.#read(chunk);
		if (text.startsWith("#!")) refuse(`${chunk} is a script of its own`);
		if (text.includes(HANDLE)) refuse(`${chunk} uses the name ${HANDLE}`);
		const found = this.#declarations(chunk, sites, MANAGER);
		if (found.some(({ start }, index) => start < found[index - 1]?.start))
			refuse(`the session manager's names are in another order in ${chunk} than in ${MANAGER}`);
		for (const { name, all } of sites) if (all.length > 1) refuse(`${chunk} assigns to ${name}`);

		const importers = this.#importers(chunk);
		if (importers.has(chunk)) refuse(`${chunk} imports itself by way of others`);
		const manager = found.find(({ name }) => name === "SessionManager");
		this.#refuseCopies(chunk, manager.value);
		for (const name of settings) this.#checkSetting(name, chunk, manager.start);

		const starts = this.#files.filter((file) => posix.dirname(file) === posix.dirname(`${BUNDLE}x`));
		const guarded = starts.filter((file) => importers.has(file));
		const entries = starts.filter((file) => guarded.includes(file) || this.#launches(file, guarded));
		if (!entries.includes(`${BUNDLE}cli.js`)) refuse(`${BUNDLE}cli.js starts something else than ${chunk}`);
		return {
			chunk,
			functions: found.filter(({ kind }) => kind === "function").map(({ name }) => name),
			values: found
				.filter(({ kind }) => kind !== "function")
				.map(({ name, kind, value }) => ({ name, start: value.start, end: value.end, declares: kind === "class" })),
			expectedBindings: this.#expectedBindings(chunk, names),
			guarded,
			entries,
		};
	}

	/**
	 * A module's import statements and what it exports from its own top level. `start` is the offset of a statement that must be at
	 * the top level.
	 */
	#module(file, start) {
		let found = this.#modules.get(file);
		if (found && start === undefined) return found;
		const whole = this.#read(file);
		const text = start === undefined ? whole : `${whole.slice(0, start)};export{${MARK}};${whole.slice(start)}`;
		const [imports, exports] = this.#lexed(text, file);
		const statements = imports.filter(({ type }) => type !== "dynamic" && type !== "import-meta");
		found = {
			imports: statements.map(({ specifier, importStart, importEnd }) => ({
				from: target(specifier, file),
				statement: text.slice(importStart, importEnd),
			})),
			exports: exports.filter(({ type, name }) => type === "direct" && name !== MARK),
			isTopLevel: exports.some(({ name }) => name === MARK),
		};
		const missing = found.imports.find(({ from }) => from !== undefined && !this.#files.includes(from) && file.startsWith(BUNDLE));
		if (missing) refuse(`${file} imports ${missing.from}, which is not there`);
		this.#modules.set(file, found);
		return found;
	}

	/** Only the parser says what is wrong. */
	#lexed(text, file) {
		return understood(() => {
			try {
				return lex(text, file);
			} catch (error) {
				parse(text, OPTIONS);
				throw error;
			}
		}, file);
	}

	/** What a file imports from another one, as pairs of the imported name and the local one. */
	#importsFrom(file, from) {
		const statements = this.#module(file).imports.filter((one) => one.from === from);
		if (statements.some(({ statement }) => statement.startsWith("export"))) refuse(`${file} passes exports of ${from} on`);
		return statements.flatMap(({ statement }) => importedBy(statement));
	}

	/** The one file that declares a name, as `{ name, file, all }` with the places where it may be bound or assigned. */
	#site(name) {
		const flagged = this.#files.flatMap((file) => {
			const all = bindings(this.#read(file), name);
			return all.length > 0 ? [{ name, file, all }] : [];
		});
		// A module cannot bind a name that it imports.
		const isImported = ({ file }) =>
			this.#module(file).imports.some(({ statement }) => statement.includes(name) && importedBy(statement).some(([, local]) => local === name));
		const found = flagged.length > 1 ? flagged.filter((one) => !isImported(one)) : flagged;
		if (found.length === 0) refuse(`nothing in its bundle declares ${name}`);
		const declarations = found.flatMap(({ file, all }) => (found.length > 1 ? file : all.filter(({ declares }) => declares).map(() => file)));
		if (declarations.length > 1) refuse(`${name} is declared more than once (${declarations.join(", ")})`);
		return found[0];
	}

	/** The declarations of names that are bound at `sites` of a file: in the same way as in the unbundled module. */
	#declarations(file, sites, original) {
		const text = this.#read(file);
		const places = sites.map(({ name, all }) => ({ name, at: (all.find(({ declares }) => declares) ?? all[0]).at }));
		const first = places.reduce((one, other) => (other.at < one.at ? other : one));
		const start = declarationAround(text, first.at);
		const { isTopLevel } = this.#module(file, start);
		if (!isTopLevel) refuse(`${first.name} is not declared by itself in ${file}`);
		const found = new Map();
		understood(() => {
			for (const statement of statementsFrom(text, start)) {
				for (const one of declaredBy(statement)) if (sites.some(({ name }) => name === one.name)) found.set(one.name, one);
				if (found.size === sites.length) return;
			}
		}, file);
		return sites.map(({ name }) => {
			const one = found.get(name) ?? refuse(`${name} is not declared by itself in ${file}`);
			if (!one.value) refuse(`${name} has no value where ${file} declares it`);
			const expected = this.#original(original, name);
			if ((one.kind === "function") !== (expected.kind === "function") || outlineOf(one.value) !== outlineOf(expected.value))
				refuse(`${name} in ${file} differs from the unbundled module's`);
			return one;
		});
	}

	/** An unbundled module's declaration of a name that it exports. */
	#original(file, name) {
		const known = this.#originals.get(name);
		if (known) return known;
		const text = this.#read(file);
		const [{ index }] = text.matchAll(new RegExp(`^export [^=(]*?(?<![\\w$])${name.replaceAll("$", "\\$")}(?![\\w$])`, "gm"));
		const [statement] = understood(() => [statementsFrom(text, index).next().value], file);
		const found = declaredBy(statement).find((one) => one.name === name);
		this.#originals.set(name, found);
		return found;
	}

	/** Refuses a second class with the methods of pi's, whatever it is called: bundlers rename what collides. */
	#refuseCopies(chunk, replaced) {
		const methods = methodNames(this.#original(MANAGER, "SessionManager").value);
		for (const file of this.#files) {
			const text = this.#read(file);
			const pieces = file === chunk ? [text.slice(0, replaced.start), text.slice(replaced.end)] : [text];
			// Minifying keeps the names of methods, and a call of one follows a dot.
			const defines = (name) => pieces.some((piece) => hasDefinition(piece, name));
			if (methods.length > 0 && methods.every(defines)) refuse(`${file} has a second class with the methods of SessionManager`);
		}
	}

	/** The files that import a file by statements, directly or through others. */
	#importers(of) {
		const reached = new Set();
		const queue = [of];
		for (let to = queue.pop(); to !== undefined; to = queue.pop()) {
			for (const file of this.#files) {
				// A specifier ends with the file's name.
				if (reached.has(file) || !this.#read(file).includes(posix.basename(to))) continue;
				if (!this.#module(file).imports.some(({ from }) => from === to)) continue;
				reached.add(file);
				queue.push(file);
			}
		}
		return reached;
	}

	/** Refuses a chunk that does not see one of pi's settings by its name, or not before the session manager has its value. */
	#checkSetting(name, chunk, managerStart) {
		const site = this.#site(name);
		const [{ kind, start }] = this.#declarations(site.file, [site], CONFIG);
		if (site.file === chunk) {
			if (kind !== "function" && start > managerStart) refuse(`${name} has its value after the session manager has in ${chunk}`);
			return;
		}
		const exported = this.#module(site.file).exports.find(({ localName }) => localName === name)?.name;
		const [, local] = this.#importsFrom(chunk, site.file).find(([imported]) => imported === exported) ?? [];
		if (!local) refuse(`${chunk} does not import ${name} from ${site.file}`);
		if (local !== name) refuse(`${chunk} calls ${name} ${local}`);
	}

	/**
	 * By file, what must be ours when the file has run: pairs of an exported name and an expression (a name, or a property
	 * of a namespace object that the bundler made) that stands for it. The names that the chunk declares are not among them.
	 */
	#expectedBindings(chunk, names) {
		const exported = this.#module(chunk).exports.filter(({ localName }) => names.includes(localName));
		for (const { name, localName } of exported) if (localName !== name) refuse(`${chunk} exports ${localName} as ${name}`);
		const expected = {};
		for (const file of this.#files) {
			if (file !== chunk && !this.#read(file).includes(posix.basename(chunk))) continue;
			const imported = this.#importsFrom(file, chunk).flatMap(([name, local]) => {
				if (name === "*") return exported.map((one) => [one.name, `${local}.${one.name}`]);
				return names.includes(name) ? [[name, local]] : [];
			});
			const locals = new Map(file === chunk ? names.map((name) => [name, name]) : imported.map(([name, local]) => [local, name]));
			const all = [...imported, ...namespaceMembers(this.#read(file), locals)];
			if (all.length > 0) expected[file] = all;
		}
		return expected;
	}

	/** Whether a file only starts one of `guarded`, by a relative path, and imports nothing else. */
	#launches(file, guarded) {
		const leads = [];
		const strays = [];
		walk(understood(() => parse(this.#read(file), OPTIONS), file), ({ type, value }) => {
			if (type !== "Literal" || typeof value !== "string") return;
			const to = target(value, file);
			if (to !== undefined && guarded.includes(to)) leads.push(to);
			else if (!value.startsWith("node:")) strays.push(value);
		});
		return leads.length > 0 && strays.length === 0;
	}
}

/** Whether a text has a method of this name: the name with `(` after it, and no dot before. */
function hasDefinition(text, name) {
	for (let at = text.indexOf(name); at >= 0; at = text.indexOf(name, at + name.length))
		if (/^\s*\(/.test(text.slice(at + name.length, at + name.length + NEAR)) && !/[\w$.#]$/.test(text.slice(Math.max(0, at - 1), at))) return true;
	return false;
}

/** Members of namespace objects, made as `helper(object, { name: () => local, … })`, that stand for locals in `names`. */
function namespaceMembers(text, names) {
	const objects = new Map();
	for (const { index, 1: local } of text.matchAll(/:\s*\(\)\s*=>\s*([\w$]+)/g)) {
		const open = names.has(local) ? text.lastIndexOf("{", index) : -1;
		const [, key] = /([\w$]+)\s*$/.exec(text.slice(Math.max(0, index - NEAR), index)) ?? [];
		if (open >= 0 && key) objects.set(open, [...(objects.get(open) ?? []), [names.get(local), key]]);
	}
	return [...objects].flatMap(([open, members]) => {
		const [call, object] = /[\w$]+\s*\(\s*([\w$]+)\s*,\s*$/.exec(text.slice(Math.max(0, open - 8 * NEAR), open)) ?? [];
		if (!call || !isBalanced(text.slice(0, open - call.length))) return [];
		return members.map(([name, key]) => [name, `${object}.${key}`]);
	});
}

/**
 * How the bundle of a pi is to be edited (see bundle.mjs). Throws an error with the reason if it cannot be. `files` are the
 * bundle's modules by their names in the package, `read` gives the text of a file of the package.
 */
export const analyse = (files, read) => new Analysis(files, read).plan();
