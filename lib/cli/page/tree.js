// The script of the page that `pi-sessions tree --html` writes. It runs alone in a browser, from a file, without a
// network. What sessions say reaches the page as text only (`textContent`, canvas), never as markup.
"use strict";

/** @typedef {import("../tree-page.mjs").PageIndex} PageIndex */
/** @typedef {import("../tree-page.mjs").PageBody} PageBody */

(async () => {
	const CARD = { width: 230, height: 42, across: 262, down: 54 };
	const SCALE = { least: 0.002, most: 3, text: 0.38 };
	const CHUNKS_KEPT = 16;
	/** Matches marked in one text: each is an element, and a letter may be in a text a million times. */
	const MARKS = 1000;
	/** What one key press or button moves. */
	const STEP = 1.3;
	const hues = /** @type {Record<string, number>} */ ({ user: 140, assistant: 205, toolResult: 40, bashExecution: 40, system: 260, compaction: 310, branch_summary: 310, custom_message: 260 });

	/** @template {HTMLElement} T @param {string} id @returns {T} */
	const byId = (id) => /** @type {T} */ (document.getElementById(id));
	const canvas = /** @type {HTMLCanvasElement} */ (byId("tree"));
	const map = /** @type {HTMLCanvasElement} */ (byId("map"));
	const detail = byId("detail");
	const query = /** @type {HTMLInputElement} */ (byId("query"));
	const found = byId("found");
	const pen = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
	const mapPen = /** @type {CanvasRenderingContext2D} */ (map.getContext("2d"));

	// ---- Data: gzip in base64, in which no character can end a script element ---------------------------------

	/** @param {Element} element */
	async function unpacked(element) {
		const binary = atob(element.textContent ?? "");
		const bytes = Uint8Array.from(binary, (character) => character.charCodeAt(0));
		const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
		return JSON.parse(await new Response(stream).text());
	}

	/** @type {PageIndex} */
	const index = await unpacked(byId("index"));
	const chunks = [...document.querySelectorAll("script.bodies")];
	/** @type {Map<number, Promise<PageBody[]>>} the newest used last */
	const kept = new Map();

	/** @param {number} chunk @returns {Promise<PageBody[]>} */
	function bodiesOf(chunk) {
		const bodies = kept.get(chunk) ?? unpacked(/** @type {Element} */ (chunks[chunk]));
		kept.delete(chunk);
		kept.set(chunk, bodies);
		for (const old of kept.keys()) if (kept.size > CHUNKS_KEPT) kept.delete(old);
		return bodies;
	}

	const total = index.ids.length;
	const { ids, parents, columns, rows, roles, texts } = index;
	const lastRow = rows.reduce((most, row) => Math.max(most, row), 0);
	const lastColumn = columns.reduce((most, column) => Math.max(most, column), 0);
	/** Nodes in the order of their rows, and where each row begins in it. */
	const byRow = [...rows.keys()].sort((a, b) => rows[a] - rows[b]);
	const rowStarts = new Uint32Array(lastRow + 2);
	for (const row of rows) rowStarts[row + 1]++;
	for (let row = 0; row <= lastRow; row++) rowStarts[row + 1] += rowStarts[row];
	/** @type {Map<number, number[]>} */
	const children = new Map();
	parents.forEach((parent, node) => {
		if (parent < 0) return;
		const below = children.get(parent);
		if (below) below.push(node);
		else children.set(parent, [node]);
	});
	const active = new Set(index.active);

	// ---- The view ---------------------------------------------------------------------------------------------

	const view = { x: 0, y: 0, scale: 1 };
	const state = { selected: -1, path: new Set(), hits: /** @type {number[]} */ ([]), isHit: new Set(), hit: -1, drawing: false };
	const size = () => ({ width: canvas.clientWidth, height: canvas.clientHeight });
	/** @param {number} node */
	const left = (node) => columns[node] * CARD.across;
	/** @param {number} node */
	const top = (node) => rows[node] * CARD.down;

	function redraw() {
		if (state.drawing) return;
		state.drawing = true;
		requestAnimationFrame(() => {
			state.drawing = false;
			draw();
			drawMap();
			Object.assign(canvas.dataset, { x: view.x, y: view.y, scale: view.scale });
		});
	}

	/** @param {HTMLCanvasElement} element @param {CanvasRenderingContext2D} context */
	function fitPixels(element, context) {
		const ratio = devicePixelRatio || 1;
		const [width, height] = [Math.round(element.clientWidth * ratio), Math.round(element.clientHeight * ratio)];
		if (element.width !== width || element.height !== height) Object.assign(element, { width, height });
		context.setTransform(ratio, 0, 0, ratio, 0, 0);
		context.clearRect(0, 0, element.clientWidth, element.clientHeight);
	}

	const dark = matchMedia("(prefers-color-scheme: dark)");
	dark.addEventListener("change", redraw);

	/** @param {number} node @param {boolean} strong */
	function colour(node, strong) {
		const hue = hues[index.roleNames[roles[node]]];
		const saturation = hue === undefined ? 0 : active.has(node) ? 55 : 22;
		const light = strong ? (dark.matches ? 60 : 45) : dark.matches ? 22 : 93;
		return `hsl(${hue ?? 0} ${saturation}% ${light}%)`;
	}

	/** The nodes of the rows that can be seen. @param {number} from @param {number} to */
	function between(from, to) {
		const first = Math.max(0, Math.min(lastRow, Math.floor(from)));
		const last = Math.max(-1, Math.min(lastRow, Math.ceil(to)));
		return byRow.slice(rowStarts[first], rowStarts[last + 1]);
	}

	function draw() {
		fitPixels(canvas, pen);
		const { width, height } = size();
		const { x, y, scale } = view;
		pen.translate(-x * scale, -y * scale);
		pen.scale(scale, scale);
		const seen = between(y / CARD.down - 2, (y + height / scale) / CARD.down + 1);
		const right = x + width / scale;
		pen.lineWidth = Math.max(1.5, 1 / scale);
		for (const node of seen) drawLink(node, x, right);
		for (const node of seen) if (left(node) < right && left(node) + CARD.width > x) drawCard(node, scale);
	}

	/** @param {number} node @param {number} from @param {number} to */
	function drawLink(node, from, to) {
		const parent = parents[node];
		if (parent < 0) return;
		const [x1, x2] = [left(parent) + 18, left(node) + 18];
		if (Math.max(x1, x2) < from || Math.min(x1, x2) > to) return;
		pen.strokeStyle = state.path.has(node) ? colourOf("--accent") : colourOf("--line");
		pen.beginPath();
		const middle = top(node) - (CARD.down - CARD.height) / 2;
		pen.moveTo(x1, top(parent) + CARD.height);
		if (x1 !== x2) {
			pen.lineTo(x1, middle);
			pen.lineTo(x2, middle);
		}
		pen.lineTo(x2, top(node));
		pen.stroke();
	}

	/** @param {string} name */
	const colourOf = (name) => palette[name] ?? (palette[name] = resolved(name));
	/** @type {Record<string, string>} */
	let palette = {};
	dark.addEventListener("change", () => {
		palette = {};
	});
	/** A colour of the style sheet as the canvas takes it. @param {string} name */
	function resolved(name) {
		detail.style.outlineColor = `var(${name})`;
		const value = getComputedStyle(detail).outlineColor;
		detail.style.outlineColor = "";
		return value;
	}

	/** @param {number} node @param {number} scale */
	function drawCard(node, scale) {
		const [x, y] = [left(node), top(node)];
		const marked = state.isHit.has(node);
		pen.fillStyle = marked ? colourOf("--accent") : colour(node, scale < SCALE.text);
		if (scale < SCALE.text) {
			pen.fillRect(x, y, CARD.width, CARD.height);
		} else {
			pen.beginPath();
			pen.roundRect(x, y, CARD.width, CARD.height, 6);
			pen.globalAlpha = marked ? 0.35 : 1;
			pen.fill();
			pen.globalAlpha = 1;
		}
		const chosen = node === state.selected;
		if (chosen || node === index.leaf || index.labels[node] !== undefined) {
			pen.strokeStyle = chosen ? colourOf("--accent") : colour(node, true);
			pen.lineWidth = Math.max(chosen ? 3 : 1.5, (chosen ? 2.5 : 1) / scale);
			pen.strokeRect(x, y, CARD.width, CARD.height);
		}
		if (scale < SCALE.text) return;
		const label = index.labels[node];
		pen.fillStyle = colour(node, true);
		pen.font = "600 11px system-ui, sans-serif";
		const marks = `${node === index.leaf ? "  ◀ leaf" : ""}${label === undefined ? "" : `  ⚑ ${label}`}`;
		pen.fillText(cut(`${index.roleNames[roles[node]]}${marks}`, CARD.width - 20), x + 10, y + 16);
		pen.fillStyle = colourOf(active.has(node) ? "--text" : "--quiet");
		pen.font = "12px system-ui, sans-serif";
		pen.fillText(cut(texts[node], CARD.width - 20), x + 10, y + 32);
	}

	/** @param {string} text @param {number} width */
	function cut(text, width) {
		// The narrowest letters make some 3 pixels each.
		let shown = text.slice(0, Math.floor(width / 3));
		if (shown === text && pen.measureText(shown).width <= width) return shown;
		while (shown && pen.measureText(`${shown}…`).width > width) shown = shown.slice(0, Math.floor(shown.length * 0.9));
		return `${shown}…`;
	}

	function drawMap() {
		fitPixels(map, mapPen);
		const [width, height] = [map.clientWidth, map.clientHeight];
		const [down, across] = [height / (lastRow + 1), width / (lastColumn + 1)];
		for (let node = 0; node < total; node++) {
			mapPen.fillStyle = colour(node, true);
			mapPen.fillRect(columns[node] * across, rows[node] * down, Math.max(1, across - 1), Math.max(0.5, down - (down > 3 ? 1 : 0)));
		}
		mapPen.fillStyle = colourOf("--accent");
		for (const node of state.hits) mapPen.fillRect(0, rows[node] * down - 1, width, 2);
		const seen = size();
		mapPen.strokeStyle = colourOf("--text");
		mapPen.lineWidth = 1;
		const [x, y] = [(view.x / CARD.across) * across, (view.y / CARD.down) * down];
		mapPen.strokeRect(x + 0.5, y + 0.5, (seen.width / view.scale / CARD.across) * across - 1, Math.max(3, (seen.height / view.scale / CARD.down) * down - 1));
	}

	/** @param {number} factor @param {number} [x] of the point that stays @param {number} [y] */
	function zoom(factor, x = size().width / 2, y = size().height / 2) {
		const scale = Math.min(SCALE.most, Math.max(SCALE.least, view.scale * factor));
		view.x += x / view.scale - x / scale;
		view.y += y / view.scale - y / scale;
		view.scale = scale;
		redraw();
	}

	function fit() {
		const { width, height } = size();
		const whole = { width: (lastColumn + 1) * CARD.across, height: (lastRow + 1) * CARD.down };
		view.scale = Math.max(SCALE.least, Math.min(1, (width - 40) / whole.width, (height - 40) / whole.height));
		view.x = (whole.width - width / view.scale) / 2;
		view.y = (whole.height - height / view.scale) / 2;
		redraw();
	}

	/** @param {number} node @param {number} [height] where on the screen, as a share of its height */
	function centre(node, height = 0.5) {
		const seen = size();
		if (view.scale < SCALE.text) view.scale = 1;
		view.x = Math.max(left(node) + CARD.width + 40 - seen.width / view.scale, Math.min(left(node) - 40, view.x));
		view.y = top(node) - (seen.height / view.scale) * height;
		redraw();
	}

	// ---- The chosen entry -------------------------------------------------------------------------------------

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
		detail.replaceChildren(...parts);
		detail.scrollTop = 0;
		if (detail.hidden) {
			detail.hidden = false;
			// The panel may cover what was clicked.
			view.x = Math.max(view.x, left(node) + CARD.width + 20 - size().width / view.scale);
			redraw();
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

	// ---- Search -----------------------------------------------------------------------------------------------

	let searches = 0;

	async function search() {
		const mine = ++searches;
		const words = query.value.trim().toLowerCase();
		Object.assign(state, { hits: [], isHit: new Set(), hit: -1 });
		for (let chunk = 0; words && chunk < chunks.length; chunk++) {
			const bodies = await bodiesOf(chunk);
			if (mine !== searches) return;
			for (const [offset, body] of bodies.entries()) {
				const node = index.firsts[chunk] + offset;
				const own = [ids[node], index.roleNames[roles[node]], index.labels[node] ?? "", body.about ?? ""];
				const texts = body.parts.filter(({ kind }) => kind !== "image").flatMap((part) => [part.title ?? "", part.text]);
				if ([...own, ...texts].some((text) => text.toLowerCase().includes(words))) {
					state.hits.push(node);
					state.isHit.add(node);
				}
			}
			found.textContent = `${state.hits.length} found…`;
			redraw();
		}
		state.hits.sort((a, b) => rows[a] - rows[b] || columns[a] - columns[b]);
		found.textContent = words ? `${state.hits.length} found` : "";
		redraw();
	}

	/** @param {number} step */
	function nextHit(step) {
		if (state.hits.length === 0) return;
		state.hit = (state.hit + step + state.hits.length + (state.hit < 0 && step < 0 ? 1 : 0)) % state.hits.length;
		found.textContent = `${state.hit + 1} of ${state.hits.length}`;
		const node = state.hits[state.hit];
		centre(node);
		return select(node);
	}

	/** @type {ReturnType<typeof setTimeout> | undefined} */
	let typing;
	query.addEventListener("input", () => {
		clearTimeout(typing);
		typing = setTimeout(search, 150);
	});
	byId("find").addEventListener("submit", (event) => {
		event.preventDefault();
		void nextHit(1);
	});
	byId("previous").addEventListener("click", () => nextHit(-1));
	query.addEventListener("keydown", (event) => {
		if (event.key === "Enter" && event.shiftKey) {
			event.preventDefault();
			void nextHit(-1);
		}
	});

	// ---- Input ------------------------------------------------------------------------------------------------

	/** @param {number} x @param {number} y on the canvas */
	function nodeAt(x, y) {
		const [worldX, worldY] = [view.x + x / view.scale, view.y + y / view.scale];
		return between(Math.floor(worldY / CARD.down), Math.floor(worldY / CARD.down)).find(
			(node) => worldX >= left(node) && worldX <= left(node) + CARD.width && worldY >= top(node) && worldY <= top(node) + CARD.height,
		);
	}

	/** @type {Map<number, { x: number, y: number }>} fingers and the mouse */
	const pointers = new Map();
	let moved = 0;
	canvas.addEventListener("pointerdown", (event) => {
		canvas.setPointerCapture(event.pointerId);
		pointers.set(event.pointerId, { x: event.offsetX, y: event.offsetY });
		if (pointers.size === 1) moved = 0;
	});
	canvas.addEventListener("pointermove", (event) => {
		const before = pointers.get(event.pointerId);
		if (!before) return;
		const now = { x: event.offsetX, y: event.offsetY };
		const other = [...pointers].find(([id]) => id !== event.pointerId)?.[1];
		const far = (/** @type {{ x: number, y: number }} */ point) => (other ? Math.hypot(point.x - other.x, point.y - other.y) : 1);
		view.x -= (now.x - before.x) / view.scale / pointers.size;
		view.y -= (now.y - before.y) / view.scale / pointers.size;
		moved += Math.abs(now.x - before.x) + Math.abs(now.y - before.y);
		pointers.set(event.pointerId, now);
		if (other && far(before) > 0) zoom(far(now) / far(before), (now.x + other.x) / 2, (now.y + other.y) / 2);
		canvas.classList.add("dragging");
		redraw();
	});
	for (const end of /** @type {const} */ (["pointerup", "pointercancel"])) {
		canvas.addEventListener(end, (event) => {
			const wasDown = pointers.delete(event.pointerId);
			canvas.classList.remove("dragging");
			if (end !== "pointerup" || !wasDown || moved > 4 || pointers.size > 0) return;
			const node = nodeAt(event.offsetX, event.offsetY);
			if (node === undefined) deselect();
			else void select(node);
		});
	}
	canvas.addEventListener(
		"wheel",
		(event) => {
			event.preventDefault();
			const unit = event.deltaMode === 1 ? 20 : 1;
			if (event.ctrlKey || event.metaKey) return zoom(Math.exp(-event.deltaY * unit * 0.005), event.offsetX, event.offsetY);
			view.x += ((event.shiftKey ? event.deltaY : event.deltaX) * unit) / view.scale;
			view.y += ((event.shiftKey ? 0 : event.deltaY) * unit) / view.scale;
			redraw();
		},
		{ passive: false },
	);
	/** @param {PointerEvent} event */
	function jump(event) {
		if (event.buttons !== 1) return;
		const { width, height } = size();
		view.x = (event.offsetX / map.clientWidth) * (lastColumn + 1) * CARD.across - width / view.scale / 2;
		view.y = (event.offsetY / map.clientHeight) * (lastRow + 1) * CARD.down - height / view.scale / 2;
		redraw();
	}
	map.addEventListener("pointerdown", jump);
	map.addEventListener("pointermove", jump);

	/** @param {number} node */
	function go(node) {
		centre(node);
		void select(node);
	}

	/** Along the tree from the chosen entry. @param {string} key */
	function walk(key) {
		const node = state.selected;
		if (node < 0) return go(index.leaf);
		const siblings = children.get(parents[node]) ?? [node];
		const below = children.get(node) ?? [];
		if (key === "ArrowUp" && parents[node] >= 0) go(parents[node]);
		if (key === "ArrowDown" && below.length > 0) go(below.find((child) => columns[child] === columns[node]) ?? below[0]);
		const beside = siblings[siblings.indexOf(node) + (key === "ArrowRight" ? 1 : -1)];
		if ((key === "ArrowLeft" || key === "ArrowRight") && beside !== undefined) go(beside);
	}

	const actions = /** @type {Record<string, () => unknown>} */ ({
		"+": () => zoom(STEP),
		"=": () => zoom(STEP),
		"-": () => zoom(1 / STEP),
		0: fit,
		l: () => index.leaf >= 0 && go(index.leaf),
		"/": () => query.focus(),
		Escape: deselect,
	});
	document.addEventListener("keydown", (event) => {
		if (event.target === query) {
			if (event.key === "Escape") canvas.focus();
			return;
		}
		if (event.ctrlKey || event.metaKey || event.altKey) return;
		const action = event.key.startsWith("Arrow") ? () => total > 0 && walk(event.key) : actions[event.key];
		if (!action) return;
		event.preventDefault();
		action();
	});
	byId("in").addEventListener("click", () => zoom(STEP));
	byId("out").addEventListener("click", () => zoom(1 / STEP));
	byId("fit").addEventListener("click", fit);
	byId("leaf").addEventListener("click", () => index.leaf >= 0 && go(index.leaf));
	new ResizeObserver(redraw).observe(canvas);

	// ---- The first view: the leaf, or the entry that the address names -----------------------------------------

	/** What follows `#`. Somebody may have typed an id without the escapes of addresses. */
	function addressed() {
		const text = location.hash.slice(1);
		try {
			return decodeURIComponent(text);
		} catch (error) {
			if (error instanceof URIError) return text;
			throw error;
		}
	}

	const named = ids.indexOf(addressed());
	if (named >= 0) go(named);
	else if (index.leaf >= 0) {
		view.x = -40;
		centre(index.leaf, 0.75);
	} else redraw();
	canvas.dataset.ready = "true";
})();
