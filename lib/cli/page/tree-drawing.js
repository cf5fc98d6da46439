// Draws the tree and its map, and knows which part of it is seen.
"use strict";

/** @typedef {{ selected: number, path: Set<number>, hits: number[], isHit: Set<number>, hit: number }} State the chosen entry with its path, and what was found */
/** @typedef {ReturnType<typeof drawTree>} Drawing */

/**
 * @param {Tree} tree
 * @param {State} state
 */
function drawTree(tree, state) {
	const CARD = { width: 230, height: 42, across: 262, down: 54 };
	const SCALE = { least: 0.002, most: 3, text: 0.38 };
	const hues = /** @type {Record<string, number>} */ ({ user: 140, assistant: 205, toolResult: 40, bashExecution: 40, system: 260, compaction: 310, branch_summary: 310, custom_message: 260 });

	const canvas = /** @type {HTMLCanvasElement} */ (byId("tree"));
	const map = /** @type {HTMLCanvasElement} */ (byId("map"));
	const pen = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
	const mapPen = /** @type {CanvasRenderingContext2D} */ (map.getContext("2d"));
	const { index, total, lastRow, lastColumn, byRow, rowStarts, active } = tree;
	const { parents, columns, rows, roles, texts } = index;
	let isDrawing = false;

	const view = { x: 0, y: 0, scale: 1 };
	const size = () => ({ width: canvas.clientWidth, height: canvas.clientHeight });
	/** @param {number} node */
	const left = (node) => columns[node] * CARD.across;
	/** @param {number} node */
	const top = (node) => rows[node] * CARD.down;

	function redraw() {
		if (isDrawing) return;
		isDrawing = true;
		requestAnimationFrame(() => {
			isDrawing = false;
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
		canvas.style.outlineColor = `var(${name})`;
		const value = getComputedStyle(canvas).outlineColor;
		canvas.style.outlineColor = "";
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

	/** @param {number} x @param {number} y on the canvas */
	function nodeAt(x, y) {
		const [worldX, worldY] = [view.x + x / view.scale, view.y + y / view.scale];
		return between(Math.floor(worldY / CARD.down), Math.floor(worldY / CARD.down)).find(
			(node) => worldX >= left(node) && worldX <= left(node) + CARD.width && worldY >= top(node) && worldY <= top(node) + CARD.height,
		);
	}

	/** Keeps an entry left of what covers the right of the canvas. @param {number} node */
	function uncover(node) {
		view.x = Math.max(view.x, left(node) + CARD.width + 20 - size().width / view.scale);
		redraw();
	}

	/** Shows the part that a place in the map stands for. @param {number} x @param {number} y on the map */
	function jump(x, y) {
		const { width, height } = size();
		view.x = (x / map.clientWidth) * (lastColumn + 1) * CARD.across - width / view.scale / 2;
		view.y = (y / map.clientHeight) * (lastRow + 1) * CARD.down - height / view.scale / 2;
		redraw();
	}

	return { canvas, map, view, redraw, zoom, fit, centre, nodeAt, uncover, jump };
}
