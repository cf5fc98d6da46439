/**
 * Works on items, several at the same time. Gives the results in the items' order. After the first failure no more of them begin.
 * @template T, R
 * @param {number} limit how many at the same time
 * @param {readonly T[]} items
 * @param {(item: T, at: number) => Promise<R>} work
 * @param {AbortSignal} [signal] no more of them begin when it is aborted; those that did not begin have no result
 * @returns {Promise<R[]>}
 */
async function inParallel(limit, items, work, signal) {
	/** @type {R[]} */
	const results = [];
	let next = 0;
	const one = async () => {
		try {
			for (let at = next++; at < items.length && !signal?.aborted; at = next++) results[at] = await work(/** @type {T} */ (items[at]), at);
		} catch (error) {
			next = Infinity;
			throw error;
		}
	};
	await Promise.all(Array.from({ length: limit }, one));
	return results.filter(() => true);
}

exports.inParallel = inParallel;
