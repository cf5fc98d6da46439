/** The default number of calls at the same time: a call to a network drive or a server takes some milliseconds. */
const PARALLEL = 16;

/**
 * Works on items, several at the same time. Returns the results in the order of the items. After the first failure no
 * further item begins.
 * @template T, R
 * @param {readonly T[]} items
 * @param {(item: T, at: number) => Promise<R>} work
 * @param {{ limit?: number }} [options]
 * @returns {Promise<R[]>}
 */
async function inParallel(items, work, { limit = PARALLEL } = {}) {
	/** @type {R[]} */
	const results = [];
	let next = 0;
	const one = async () => {
		try {
			for (let at = next++; at < items.length; at = next++) results[at] = await work(/** @type {T} */ (items[at]), at);
		} catch (error) {
			next = Infinity;
			throw error;
		}
	};
	await Promise.all(Array.from({ length: limit }, one));
	return results;
}

exports.PARALLEL = PARALLEL;
exports.inParallel = inParallel;
