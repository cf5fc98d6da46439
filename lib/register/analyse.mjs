// Analyses pi's bundle, once for each version of pi: where the chunk with the session manager declares the names that pi's own
// module exports, and which modules import them from there. Everything is read from syntax trees. A bundle that is not exactly as
// expected is refused with a reason; then pi runs unbundled.
import { posix } from "node:path";
import { parse } from "acorn";
import { parse as lex } from "es-module-lexer/js";
import { BUNDLE, CONFIG, MANAGER } from "./package.mjs";
import { HANDLE, namesOf } from "./plan.mjs";

const refuse = (why) => {
	throw new Error(why);
};

function treeOf(text, name) {
	try {
		return parse(text, { ecmaVersion: "latest", sourceType: "module", allowHashBang: true });
	} catch (error) {
		return refuse(`${name} is not understood: ${error.message}`);
	}
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

/** The names that a pattern binds or assigns, including those in its defaults. */
function patternNames(pattern) {
	const names = [];
	walk(pattern, ({ type, name }) => type === "Identifier" && names.push(name));
	return names;
}

/** The names that a module binds at its top level by a pattern, or by a `var` in a block. */
function otherBindings(tree) {
	const names = [];
	const visit = (node, isTop) => {
		if (/Function|^Class/.test(node.type)) return;
		if (node.type === "VariableDeclaration" && (isTop || node.kind === "var")) {
			const ids = node.declarations.map(({ id }) => id).filter(({ type }) => !isTop || type !== "Identifier");
			names.push(...ids.flatMap(patternNames));
		}
		for (const value of Object.values(node).flat()) if (typeof value?.type === "string") visit(value, node.type.startsWith("Export"));
	};
	for (const statement of tree.body) visit(statement, true);
	return names;
}

/** The names of a class's own methods, except the constructor. */
function methodNames(node) {
	const named = node.body.body.filter(({ type, computed }) => type === "MethodDefinition" && !computed);
	return named.flatMap(({ kind, key }) => (kind === "constructor" || key.type !== "Identifier" ? [] : [key.name]));
}

/** The names that a module binds at its top level by declaring them, as `{ name, kind, node }`. */
function bindingsOf(tree) {
	return tree.body.flatMap((statement) => {
		const node = statement.type.startsWith("Export") && statement.declaration ? statement.declaration : statement;
		if (node.type === "VariableDeclaration") {
			const plain = node.declarations.filter(({ id }) => id.type === "Identifier");
			return plain.map((one) => ({ name: one.id.name, kind: "variable", node: one }));
		}
		const kind = { FunctionDeclaration: "function", ClassDeclaration: "class" }[node.type];
		return kind && node.id ? [{ name: node.id.name, kind, node }] : [];
	});
}

/** What a module exports from its own top level, as pairs of the local name and the exported one. */
function exportsOf(tree) {
	return tree.body.flatMap((statement) => {
		if (statement.type !== "ExportNamedDeclaration" || statement.source) return [];
		if (statement.declaration) return bindingsOf({ body: [statement] }).map(({ name }) => [name, name]);
		return statement.specifiers.map(({ local, exported }) => [local.name, exported.name ?? exported.value]);
	});
}

/** The value that a declaration gives its name: a function, a class, or a variable's initial value. */
const valueOf = ({ kind, node }) => (kind === "variable" ? node.init : node);

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

/** The file of the bundle that a specifier in `file` leads to, if it is a relative one. */
const target = (specifier, file) =>
	/^\.\.?\//.test(specifier) ? posix.join(posix.dirname(file), specifier) : undefined;

/** The top-level names of `file` that are imported from `from`, as pairs of the imported name (`*` for all) and the local. */
function importsFrom(tree, file, from) {
	return tree.body.flatMap((statement) => {
		if (!statement.source || target(statement.source.value, file) !== from) return [];
		if (statement.type !== "ImportDeclaration") return refuse(`${file} passes exports of ${from} on`);
		return statement.specifiers.map(({ type, imported, local }) =>
			type === "ImportSpecifier" ? [imported.name ?? imported.value, local.name] : ["*", local.name],
		);
	});
}

class Analysis {
	#read;
	#files;
	#trees = new Map();
	#imports = new Map();

	/** `files` are the bundle's modules, `read` gives a file's text; files are named by their path in the package. */
	constructor(files, read) {
		this.#files = files;
		this.#read = read;
	}

	#tree(file) {
		let tree = this.#trees.get(file);
		if (!tree) this.#trees.set(file, (tree = treeOf(this.#read(file), file)));
		return tree;
	}

	plan() {
		const originals = this.#exported(MANAGER);
		if (!originals.has("SessionManager")) refuse(`${MANAGER} exports no SessionManager`);
		const config = this.#exported(CONFIG);
		if (!config.has("getAgentDir")) refuse(`${CONFIG} exports no getAgentDir`);
		const { names, settings } = namesOf(this.#read);
		if (names.length !== originals.size || names.some((name) => !originals.has(name)))
			refuse(`${MANAGER} does not write each export as a declaration on a line of its own`);
		for (const name of config.keys()) if (!settings.includes(name)) config.delete(name);
		const wanted = [...names, ...config.keys()];
		// A file that does not contain a name cannot bind it.
		const candidates = this.#files.filter((file) => wanted.some((name) => this.#read(file).includes(name)));

		const found = [...originals].map(([name, original]) => this.#find(name, original, candidates));
		const [{ file: chunk }] = found;
		for (const { name, file } of found)
			if (file !== chunk) refuse(`${found[0].name} is in ${chunk}, and ${name} in ${file}`);
		const positions = found.map(({ node }) => node.start);
		if (positions.some((at, index) => at < positions[index - 1]))
			refuse(`the session manager's names are in another order in ${chunk} than in ${MANAGER}`);
		if (this.#read(chunk).startsWith("#!")) refuse(`${chunk} is a script of its own`);
		if (this.#read(chunk).includes(HANDLE)) refuse(`${chunk} uses the name ${HANDLE}`);
		this.#refuseAssignments(chunk, originals);
		this.#refuseCycle(chunk);

		const manager = found.find(({ name }) => name === "SessionManager");
		this.#refuseCopies(valueOf(originals.get("SessionManager")), valueOf(manager));
		for (const [name, original] of config) {
			const setting = this.#find(name, original, candidates);
			if (setting.file === chunk && setting.kind !== "function" && setting.node.start > manager.node.start)
				refuse(`${name} has its value after the session manager has in ${chunk}`);
			const local = this.#localName(setting, chunk);
			if (local !== name) refuse(`${chunk} calls ${name} ${local}`);
		}

		const guarded = this.#starts().filter((file) => this.#reachable(file).has(chunk));
		const entries = this.#starts().filter((file) => guarded.includes(file) || this.#launches(file, guarded));
		if (!entries.includes(`${BUNDLE}cli.js`)) refuse(`${BUNDLE}cli.js starts something else than ${chunk}`);
		return {
			chunk,
			functions: found.filter(({ kind }) => kind === "function").map(({ name }) => name),
			values: found.filter(({ kind }) => kind !== "function").map((one) => this.#value(one)),
			expectedBindings: this.#expectedBindings(chunk, originals, candidates),
			guarded,
			entries,
		};
	}

	/** Refuses a second class with the methods of pi's, whatever it is called: bundlers rename what collides. */
	#refuseCopies(original, replaced) {
		const methods = methodNames(original);
		for (const file of this.#files) {
			// Minifying keeps the names of methods.
			if (!methods.every((name) => this.#read(file).includes(name))) continue;
			walk(this.#tree(file), (node) => {
				if (!/^Class(Declaration|Expression)$/.test(node.type) || node === replaced) return;
				const names = new Set(methodNames(node));
				if (methods.length > 0 && methods.every((name) => names.has(name)))
					refuse(`${file} has a second class with the methods of SessionManager`);
			});
		}
	}

	/** A module's exports by name, each with its declaration. */
	#exported(file) {
		const tree = this.#tree(file);
		const bindings = new Map(bindingsOf(tree).map((one) => [one.name, one]));
		if (tree.body.some(({ type }) => /^Export(All|Default)/.test(type))) refuse(`${file} exports more than names`);
		return new Map(
			exportsOf(tree).map(([local, exported]) => {
				const binding = bindings.get(local);
				if (local !== exported || !binding) refuse(`${file} exports ${exported} in an unknown way`);
				return [exported, binding];
			}),
		);
	}

	/** Where the bundle declares a name: once, and in the same way as the unbundled module. */
	#find(name, original, candidates) {
		const found = candidates.flatMap((file) => {
			const others = otherBindings(this.#tree(file)).filter((one) => one === name);
			const declared = bindingsOf(this.#tree(file)).filter((one) => one.name === name);
			return [...declared.map((one) => ({ ...one, file })), ...others.map(() => ({ name, file }))];
		});
		if (found.length !== 1) {
			const where = found.map(({ file }) => file).join(", ");
			refuse(found.length === 0 ? `nothing in its bundle declares ${name}` : `${name} is declared more than once (${where})`);
		}
		const [one] = found;
		if (!one.node) refuse(`${name} is not declared by itself in ${one.file}`);
		if (!valueOf(one)) refuse(`${name} has no value where ${one.file} declares it`);
		if ((one.kind === "function") !== (original.kind === "function") || outlineOf(valueOf(one)) !== outlineOf(valueOf(original)))
			refuse(`${name} in ${one.file} differs from the unbundled module's`);
		return one;
	}

	/** The piece of text that gives a name its value: byte offsets, and whether the text declares the name, too. */
	#value(found) {
		const { start, end } = valueOf(found);
		const text = this.#read(found.file);
		const offset = (at) => Buffer.byteLength(text.slice(0, at));
		return { name: found.name, start: offset(start), end: offset(end), declares: found.kind === "class" };
	}

	#refuseAssignments(chunk, originals) {
		walk(this.#tree(chunk), ({ type, left, argument }) => {
			const isAssignment = type === "AssignmentExpression" || /^For(In|Of)Statement$/.test(type);
			const pattern = isAssignment ? left : type === "UpdateExpression" ? argument : undefined;
			if (!pattern || pattern.type === "MemberExpression" || pattern.type === "VariableDeclaration") return;
			const name = patternNames(pattern).find((one) => originals.has(one));
			if (name) refuse(`${chunk} assigns to ${name}`);
		});
	}

	/** The files that a file imports by statements, directly or through others. */
	#reachable(from) {
		const reached = new Set();
		const queue = [from];
		for (let file = queue.pop(); file !== undefined; file = queue.pop()) {
			for (const to of this.#importsOf(file)) {
				if (reached.has(to)) continue;
				reached.add(to);
				queue.push(to);
			}
		}
		return reached;
	}

	/** The files of the bundle that a file imports by statements. */
	#importsOf(file) {
		let found = this.#imports.get(file);
		if (found) return found;
		const statements = lex(this.#read(file), file)[0].filter(({ type }) => type === "static");
		found = statements.flatMap(({ specifier }) => target(specifier ?? "", file) ?? []);
		const missing = found.find((one) => !this.#files.includes(one));
		if (missing) refuse(`${file} imports ${missing}, which is not there`);
		this.#imports.set(file, found);
		return found;
	}

	/** A module that runs before the chunk and imports from it could keep a function of pi's. */
	#refuseCycle(chunk) {
		if (this.#reachable(chunk).has(chunk)) refuse(`${chunk} imports itself by way of others`);
	}

	/** The chunk's own name for what a file declares. */
	#localName({ name, file }, chunk) {
		if (file === chunk) return name;
		const [, exported] = exportsOf(this.#tree(file)).find(([local]) => local === name) ?? [];
		const found = importsFrom(this.#tree(chunk), chunk, file).find(([imported]) => imported === exported);
		return found?.[1] ?? refuse(`${chunk} does not import ${name} from ${file}`);
	}

	/**
	 * By file, what must be ours when the file has run: pairs of an exported name and an expression (a name, or a property
	 * of a namespace object that the bundler made) that stands for it. The names that the chunk declares are not among them.
	 */
	#expectedBindings(chunk, originals, candidates) {
		const exported = new Map(exportsOf(this.#tree(chunk)).filter(([local]) => originals.has(local)));
		for (const [local, name] of exported) if (local !== name) refuse(`${chunk} exports ${local} as ${name}`);
		const bindings = {};
		for (const file of candidates) {
			const tree = this.#tree(file);
			const imported = importsFrom(tree, file, chunk).flatMap(([name, local]) => {
				if (name === "*") return [...exported.keys()].map((one) => [one, `${local}.${one}`]);
				return originals.has(name) ? [[name, local]] : [];
			});
			const locals = file === chunk ? [...originals.keys()].map((name) => [name, name]) : imported;
			const members = namespaceMembers(tree, new Map(locals.map(([name, local]) => [local, name])));
			const expected = [...imported, ...members];
			if (expected.length > 0) bindings[file] = expected;
		}
		return bindings;
	}

	/** The modules that pi may be started by. */
	#starts() {
		return this.#files.filter((file) => posix.dirname(file) === posix.dirname(`${BUNDLE}x`));
	}

	/** Whether a file only starts one of `guarded`, by a relative path, and imports nothing else. */
	#launches(file, guarded) {
		const leads = [];
		const strays = [];
		walk(this.#tree(file), ({ type, value }) => {
			if (type !== "Literal" || typeof value !== "string") return;
			const to = target(value, file);
			if (to !== undefined && guarded.includes(to)) leads.push(to);
			else if (!value.startsWith("node:")) strays.push(value);
		});
		return leads.length > 0 && strays.length === 0;
	}
}

/** Members of namespace objects, made as `helper(object, { name: () => local, … })`, that stand for locals in `names`. */
function namespaceMembers(tree, names) {
	return tree.body.flatMap(({ type, expression }) => {
		if (type !== "ExpressionStatement" || expression.type !== "CallExpression") return [];
		const [object, members] = expression.arguments;
		if (object?.type !== "Identifier" || members?.type !== "ObjectExpression") return [];
		return members.properties.flatMap(({ key, value }) => {
			const name = value?.type === "ArrowFunctionExpression" && value.body.type === "Identifier" && names.get(value.body.name);
			return name && key.type === "Identifier" ? [[name, `${object.name}.${key.name}`]] : [];
		});
	});
}

/**
 * How the bundle of a pi is to be edited (see bundle.mjs). Throws an error with the reason if it cannot be. `files` are the
 * bundle's modules by their names in the package, `read` gives the text of a file of the package.
 */
export const analyse = (files, read) => new Analysis(files, read).plan();

/** Throws an error unless the text of an edited module parses. */
export const refuseUnparsed = (text, file) => void treeOf(text, `${file} on our session manager`);
