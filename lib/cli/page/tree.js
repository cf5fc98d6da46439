// Search, keys and pointers of the page that `pi-sessions tree --html` writes. It runs alone in a browser, from a file, without a network.
"use strict";

(async () => {
	/** What one key press or button moves. */
	const STEP = 1.3;
	const query = /** @type {HTMLInputElement} */ (byId("query"));
	const found = byId("found");
	const tree = await readTree();
	const { index, total, children, chunks, bodiesOf } = tree;
	const { ids, parents, columns, rows, roles } = index;
	/** @type {State} */
	const state = { selected: -1, path: new Set(), hits: [], isHit: new Set(), hit: -1 };
	const drawing = drawTree(tree, state);
	const { canvas, map, view, redraw, zoom, fit, centre, nodeAt, jump } = drawing;
	const { select, deselect } = detailPanel(tree, state, drawing);

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
	const follow = (/** @type {PointerEvent} */ event) => void (event.buttons === 1 && jump(event.offsetX, event.offsetY));
	map.addEventListener("pointerdown", follow);
	map.addEventListener("pointermove", follow);

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
