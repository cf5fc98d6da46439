// The panel with the chosen entry. What sessions say reaches it as text only (`textContent`), never as markup.
"use strict";

/**
 * @param {Tree} tree
 * @param {State} state
 * @param {Drawing} drawing
 */
function detailPanel({ index, bodiesOf }, state, { redraw, uncover }) {
	/** Matches marked in one text: each is an element, and a letter may be in a text a million times. */
	const MARKS = 1000;
	const detail = byId("detail");
	const query = /** @type {HTMLInputElement} */ (byId("query"));
	const { ids, parents, roles } = index;

	/** @param {number} node */
	async function select(node) {
		state.selected = node;
		state.path = new Set();
		for (let at = node; at >= 0 && !state.path.has(at); at = parents[at]) state.path.add(at);
		redraw();
		const bodies = await bodiesOf(index.chunks[node]);
		// Another one may have been chosen meanwhile.
		if (state.selected !== node) return;
		show(node, bodies[node - index.firsts[index.chunks[node]]]);
		history.replaceState(null, "", `#${encodeURIComponent(ids[node])}`);
	}

	/** @param {string} name @param {string} text @param {string} [style] */
	function element(name, text, style = "") {
		const made = document.createElement(name);
		made.textContent = text;
		made.className = style;
		return made;
	}

	/** @param {number} node @param {PageBody} body */
	function show(node, body) {
		const close = element("button", "close", "close");
		close.addEventListener("click", deselect);
		const label = index.labels[node];
		const parts = [close, element("h2", `${index.roleNames[roles[node]]}${label === undefined ? "" : ` ⚑ ${label}`}`)];
		const parent = parents[node] >= 0 ? `below ${ids[parents[node]]}` : "a root";
		parts.push(element("p", `${ids[node]}, ${parent}, ${body.time}${node === index.leaf ? ", the leaf" : ""}`));
		if (body.about) parts.push(element("p", body.about));
		for (const part of body.parts) {
			if (part.title) parts.push(element("h3", `${part.title}${part.failed ? " failed" : ""}`, part.failed ? "failed" : ""));
			if (part.kind === "image" && part.text) {
				const image = document.createElement("img");
				image.src = `data:${part.title};base64,${part.text}`;
				parts.push(image);
			} else parts.push(...highlighted(element("pre", "", part.kind), part.text));
			if (part.left) parts.push(element("p", `${part.left} more characters are not in this page (--full)`));
		}
		// An entry may have more parts than a call takes arguments.
		detail.replaceChildren();
		for (const part of parts) detail.append(part);
		detail.scrollTop = 0;
		if (detail.hidden) {
			detail.hidden = false;
			// The panel may cover what was clicked.
			uncover(node);
		}
	}

	/** The text with what is searched for marked, and a line below it if not all is. @param {HTMLElement} into @param {string} text */
	function highlighted(into, text) {
		const words = query.value.trim().toLowerCase();
		const lower = text.toLowerCase();
		let [from, places] = [0, 0];
		// Lower case may be longer than the text (İ): marks would be in the wrong place.
		for (let at = lower.indexOf(words); words && lower.length === text.length && at >= 0; at = lower.indexOf(words, from)) {
			if (places++ < MARKS) into.append(text.slice(from, at), element("mark", text.slice(at, at + words.length)));
			else if (places === MARKS + 1) into.append(text.slice(from));
			from = at + words.length;
		}
		if (places <= MARKS) {
			into.append(text.slice(from));
			return [into];
		}
		return [into, element("p", `The first ${MARKS} of ${places} places are marked`, "places")];
	}

	function deselect() {
		state.selected = -1;
		state.path = new Set();
		detail.hidden = true;
		redraw();
	}

	return { select, deselect };
}
